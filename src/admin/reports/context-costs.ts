import type { Context, SectionKind, SegmentKey } from "../../core/context.ts";

const NOTHING = {
  system: 0,
  tools: 0,
  summaries: 0,
  history: 0,
  memory: 0,
  skills: 0,
  notes: 0,
  candidates: 0,
  other: 0,
};
/** The purposes of a request's tokens. */
type CostType = keyof typeof NOTHING;

/** Tokens of each type; together those of the request. `other`: the time, the place, the people. */
export type CostsByType = Readonly<Record<CostType, number>>;

const TYPE_OF_SEGMENT: Readonly<Record<SegmentKey, CostType>> = {
  tools: "tools",
  system: "system",
  summaries: "summaries",
  history: "history",
  due: "history",
  turn: "history",
  dynamic: "other",
};

/** Kinds of sections with a type of their own; the others are part of where they stand. */
const TYPE_OF_KIND: Readonly<Partial<Record<SectionKind, CostType>>> = {
  memory: "memory",
  skill: "skills",
  skills: "skills",
  note: "notes",
  remembered: "memory",
  recalled: "memory",
  learned: "candidates",
};

/**
 * Splits a request by what its tokens are spent on. Pure.
 * @param tokensOf turns estimates into the tokens that are reported
 */
export function costsByType(
  context: Pick<Context, "sections"> & {
    readonly segments: readonly { readonly key: SegmentKey; readonly tokens: number }[];
  },
  tokensOf: (estimated: number) => number,
): CostsByType {
  const costs: Record<CostType, number> = { ...NOTHING };
  for (const { key, tokens } of context.segments) costs[TYPE_OF_SEGMENT[key]] += tokensOf(tokens);
  for (const section of context.sections) {
    const type = TYPE_OF_KIND[section.kind];
    if (type === undefined) continue;
    const from = TYPE_OF_SEGMENT[section.place === "static" ? "system" : "dynamic"];
    const tokens = Math.min(costs[from], tokensOf(section.tokens.after));
    costs[from] -= tokens;
    costs[type] += tokens;
  }
  return costs;
}
