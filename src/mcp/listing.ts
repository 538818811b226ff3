import { createHash } from "node:crypto";
import { z } from "zod";
import { escapeLabels } from "../context/labels.ts";
import type { ToolSpec } from "../core/context.ts";
import { sliceWhole } from "../text/text.ts";
import { escapeUnseen } from "../text/unseen.ts";
import { schemaProblem, withCleanTexts } from "./schema.ts";

/** A server's description of a tool, bounded and cleaned, since the server's author writes into the prompt here. */
export interface ListedTool {
  readonly name: string;
  /** With the model's name. */
  readonly spec: ToolSpec;
  readonly isReadOnly: boolean;
}

export interface Listing {
  /** By the model's names. */
  readonly tools: readonly ListedTool[];
  /** Left-out tools with the reasons; bounded. */
  readonly problems: readonly string[];
}

export const MOST_LISTED = 1000;
/** Most tools of one server; providers take 128 in all. */
const MOST_TOOLS = 64;
const LONGEST_DESCRIPTION = 1024;
const LONGEST_NAME = 64;
const MOST_PROBLEMS = 20;

const RawTool = z.looseObject({
  name: z.string().min(1).max(200),
  description: z.string().nullish(),
  inputSchema: z.unknown().optional(),
  annotations: z.looseObject({ readOnlyHint: z.boolean().optional() }).nullish().catch(null),
});

export interface ListingParts {
  readonly server: string;
  /** The server's names of tools; empty: all. */
  readonly allowed: readonly string[];
  readonly mask: (text: string) => string;
}

/** The part of a server's list that a model may see. Pure. */
export function readListing({ server, allowed, mask }: ListingParts, listed: readonly unknown[]): Listing {
  const clean = (text: string, limit: number): string => cleanText(mask(text), limit);
  // Masked before it is cut, since half a secret is one, too.
  const shown = (name: string): string => JSON.stringify(clean(name, 80));
  const problems: string[] = [];
  const raw = new Map<string, z.output<typeof RawTool>>();
  for (const one of listed.slice(0, MOST_LISTED)) {
    const parsed = RawTool.safeParse(one);
    if (!parsed.success) problems.push("a tool without a usable name");
    else if (raw.has(parsed.data.name)) problems.push(`${shown(parsed.data.name)}: listed twice`);
    else raw.set(parsed.data.name, parsed.data);
  }
  const wanted = allowed.length === 0 ? [...raw.keys()] : allowed.filter((name) => raw.has(name));
  for (const name of allowed)
    if (!raw.has(name)) problems.push(`${shown(name)}: the server has no such tool`);
  const nameOf = namesFor(server, wanted);
  const usable = wanted.flatMap((name): ListedTool[] => {
    const tool = raw.get(name);
    const why = schemaProblem(tool?.inputSchema);
    if (tool === undefined || why !== null) {
      problems.push(`${shown(name)}: ${why ?? "unknown"}`);
      return [];
    }
    const spec = {
      name: nameOf(name),
      description: clean(tool.description ?? "", LONGEST_DESCRIPTION),
      parameters: withCleanTexts(tool.inputSchema, clean),
    };
    // It cannot be masked in a name or a choice, which the server would not recognise.
    if (hasSecret(spec, mask)) {
      problems.push(`${shown(name)}: it holds a secret of the configuration`);
      return [];
    }
    return [{ name, spec, isReadOnly: tool.annotations?.readOnlyHint === true }];
  });
  const sorted = usable.toSorted((a, b) => byText(a.spec.name, b.spec.name));
  if (sorted.length > MOST_TOOLS)
    problems.push(`${sorted.length - MOST_TOOLS} tools more than the ${MOST_TOOLS} that one server may have`);
  return {
    tools: sorted.slice(0, MOST_TOOLS),
    problems: [...new Set(problems)].slice(0, MOST_PROBLEMS).map(mask),
  };
}

/**
 * `SERVER__TOOL`, in the characters that providers take. If names collide or are too long, each changed name gets a
 * hash of its own original, so that no other tool affects it.
 */
function namesFor(server: string, tools: readonly string[]): (tool: string) => string {
  const plain = (tool: string): string => `${server}__${tool.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;
  const times = new Map<string, number>();
  for (const tool of tools) times.set(plain(tool), (times.get(plain(tool)) ?? 0) + 1);
  return (tool) => {
    const name = plain(tool);
    const isOwn = name === `${server}__${tool}`;
    if (name.length <= LONGEST_NAME && (isOwn || times.get(name) === 1)) return name;
    const hash = createHash("sha256").update(tool).digest("hex").slice(0, 8);
    return `${name.slice(0, LONGEST_NAME - hash.length - 1)}_${hash}`;
  };
}

function hasSecret(value: unknown, mask: (text: string) => string): boolean {
  if (typeof value === "string") return mask(value) !== value;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => mask(key) !== key || hasSecret(inner, mask));
}

/** By code units: the order must not depend on the machine's language. */
export function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function cleanText(text: string, limit: number): string {
  // Escaped before it is cut, since escapes are longer.
  const seen = escapeUnseen(text.trim());
  return escapeLabels(seen.length > limit ? `${sliceWhole(seen, 0, limit - 2)} …` : seen);
}
