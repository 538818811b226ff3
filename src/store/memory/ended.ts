import type { MemoryId } from "../../core/ids.ts";
import type { Memory } from "../../core/memory.ts";
import type { Queryable } from "../database/queryable.ts";
import { MEMORY_COLUMNS, memoryOf, type RawMemory } from "./memory-rows.ts";
import { askedBy, type AskingChannel, IN_SCOPE, VISIBLE, visibleMemories } from "./memory-scope.ts";

/** A memory in force with those that it has replaced. */
export interface EndedMemories {
  readonly by: Memory;
  /** Those that ended last first. */
  readonly ended: readonly Memory[];
}

/** Ended memories that are found by their words, and most replacements from one to the memory in force. */
const MOST_ENDED = 10;
const MOST_STEPS = 8;

const ENDED_BEHIND = `with recursive
         found as (
           select ended.id, ended.superseded_by from (
             ${visibleMemories("m.superseded_by is not null and m.tsv @@ $5::tsquery", "m.valid_to is not null")}
           ) ended order by ts_rank(ended.tsv, $5::tsquery) desc, ended.id desc limit ${MOST_ENDED}),
         above as (
           select f.superseded_by as id, 1 as steps from found f
           union all
           select m.superseded_by, a.steps + 1 from above a join memories m on m.id = a.id
            where m.superseded_by is not null and a.steps < ${MOST_STEPS}),
         top as (
           select m.id from memories m where m.id in (select a.id from above a) and ${VISIBLE}
           union select unnest($6::bigint[])),
         below as (
           select t.id as top, e.id, 1 as steps from top t join memories e on e.superseded_by = t.id
           union all
           select b.top, e.id, b.steps + 1 from below b join memories e on e.superseded_by = b.id where b.steps < ${MOST_STEPS}),
         shown as (select b.id, b.top from below b union all select distinct b.top, null::bigint from below b)
       select ${MEMORY_COLUMNS}, s.top as "replacedBy" from shown s join memories m on m.id = s.id
        where ${IN_SCOPE} order by m.valid_to desc nulls first, m.id desc limit ${4 * MOST_ENDED}`;

/**
 * Ended memories behind memories in force, which have replaced them, directly or in steps: behind these, and behind those whose ended
 * ones share a word with the query. Left out are ended memories that nothing in force has replaced, and those that the asking channel may
 * not see.
 * @param words a tsquery of lexemes; "": none
 * @param replacing memories that the asking channel may see
 */
export async function endedBehind(
  db: Queryable,
  asker: AskingChannel,
  words: string,
  replacing: readonly MemoryId[],
): Promise<EndedMemories[]> {
  const rows = await db.query<RawMemory & { replacedBy: MemoryId | null }>("memories_ended", ENDED_BEHIND, [
    ...askedBy(asker),
    words,
    replacing,
  ]);
  const byTop = Map.groupBy(rows, ({ id, replacedBy }) => replacedBy ?? id);
  return [...byTop.values()].flatMap((group) => {
    const by = group.find(({ replacedBy }) => replacedBy === null);
    const ended = group.filter(({ replacedBy, validTo }) => replacedBy !== null && validTo !== null);
    return by === undefined || by.validTo !== null || ended.length === 0
      ? []
      : [{ by: memoryOf(by), ended: ended.map(memoryOf) }];
  });
}
