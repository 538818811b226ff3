import { jsonOf } from "../core/json.ts";
import { z } from "zod";
import { MEMORY_CHANGES, type Revision, type StatedMemory } from "../core/memory.ts";
import { parametersOf } from "../llm/tool-parameters.ts";
import { normalWords } from "../text/normal-text.ts";
import { rankDocuments } from "../text/terms.ts";

/** Which older statements new ones may change, and what a model says of them. Pure. */

/** New statements and older ones, numbered from 1, with the pairs of which a model may say something. */
export interface RevisionTask {
  readonly fresh: readonly NumberedMemory[];
  readonly older: readonly NumberedMemory[];
  readonly pairs: ReadonlySet<string>;
}

export interface NumberedMemory extends StatedMemory {
  readonly number: number;
}

/** Older statements that a new one is compared with. */
const MOST_OLDER = 5;
/** In one request. */
const MOST_PAIRS = 60;

const Call = z.object({
  changes: z.array(
    z.object({
      new: z.int().describe("Number of a new statement"),
      old: z.int().describe("Number of an older one"),
      change: z
        .enum(MEMORY_CHANGES)
        .describe(
          "replaces: the old one held before and does not hold now. repeats: both say the same. contradicts: two people say what cannot both be true",
        ),
    }),
  ),
});

/** Arguments of the tool, as JSON Schema. */
export const revisionParameters = parametersOf(Call);

/**
 * Chooses what to ask: for each new statement the nearest older ones of the same agent and scope that its speaker said, or that are about
 * the same subject.
 * @param known memories in force of one channel, the new ones included
 * @returns null: there is nothing to ask
 */
export function revisionTask(
  fresh: readonly StatedMemory[],
  known: readonly StatedMemory[],
): RevisionTask | null {
  const pairs = fresh.flatMap((one) => nearest(one, known).map((other) => [one, other] as const));
  if (pairs.length === 0) return null;
  const asked = pairs.slice(0, MOST_PAIRS);
  const numbered = new Map<StatedMemory, NumberedMemory>();
  for (const one of [...asked.map(([newer]) => newer), ...asked.map(([, older]) => older)])
    if (!numbered.has(one)) numbered.set(one, { ...one, number: numbered.size + 1 });
  const numberOf = (one: StatedMemory): number => numbered.get(one)?.number ?? 0;
  const isFresh = new Set(asked.map(([newer]) => newer));
  const all = [...numbered];
  return {
    fresh: all.filter(([one]) => isFresh.has(one)).map(([, one]) => one),
    older: all.filter(([one]) => !isFresh.has(one)).map(([, one]) => one),
    pairs: new Set(asked.map(([newer, older]) => pairOf(numberOf(newer), numberOf(older)))),
  };
}

function nearest(fresh: StatedMemory, known: readonly StatedMemory[]): StatedMemory[] {
  const others = known.filter((one) => isComparable(fresh, one));
  const texts = others.map(({ subject, statement }) => `${subject} ${statement}`);
  const fits = new Map(
    rankDocuments(`${fresh.subject} ${fresh.statement}`, texts).map(({ index, score }) => [index, score]),
  );
  return others
    .map((one, index) => ({ one, fit: fits.get(index) ?? 0, isSame: isOfSubject(fresh, one) }))
    .filter(({ fit, isSame }) => isSame || fit > 0)
    .toSorted(
      (a, b) =>
        b.fit - a.fit ||
        Number(b.isSame) - Number(a.isSame) ||
        Number(b.one.type === fresh.type) - Number(a.one.type === fresh.type) ||
        b.one.at.getTime() - a.one.at.getTime(),
    )
    .slice(0, MOST_OLDER)
    .map(({ one }) => one);
}

function isComparable(fresh: StatedMemory, one: StatedMemory): boolean {
  const isEarlier = one.at < fresh.at || (one.at.getTime() === fresh.at.getTime() && one.id < fresh.id);
  const isOfPlace = one.agent === fresh.agent && one.scope === fresh.scope;
  return isEarlier && isOfPlace && one.id !== fresh.id && (one.by === fresh.by || isOfSubject(fresh, one));
}

/** Both are about one subject, or the older one is about the speaker of the new one. */
function isOfSubject(fresh: StatedMemory, one: StatedMemory): boolean {
  const subject = normalWords(one.subject);
  return subject === normalWords(fresh.subject) || subject === normalWords(fresh.assertedBy);
}

function pairOf(fresh: number, older: number): string {
  return `${fresh}/${older}`;
}

/**
 * Reads a call of the tool; a wrong item does not cost the others.
 * @param json the model's arguments
 * @returns changes of the pairs of the task, each pair once
 */
export function readRevisions(json: string, { fresh, older, pairs }: RevisionTask): Revision[] {
  const call = z.object({ changes: z.array(z.unknown()) }).safeParse(jsonOf(json)).data;
  const ids = new Map([...fresh, ...older].map(({ number, id }) => [number, id]));
  const found = new Map<string, Revision>();
  for (const raw of call?.changes ?? []) {
    const item = Call.shape.changes.element.safeParse(raw).data;
    if (item === undefined || !pairs.has(pairOf(item.new, item.old))) continue;
    const [newer, before] = [ids.get(item.new), ids.get(item.old)];
    if (newer !== undefined && before !== undefined)
      found.set(pairOf(item.new, item.old), { fresh: newer, older: before, change: item.change });
  }
  return [...found.values()];
}
