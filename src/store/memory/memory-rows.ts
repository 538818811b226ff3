import type { MemoryId } from "../../core/ids.ts";
import type { DayRange, Dissent, Memory } from "../../core/memory.ts";

/** A memory as it is read, of `memories m`. */
export interface RawMemory extends Omit<Memory, "at" | "tool" | "refers" | "until" | "sameAs" | "otherwise"> {
  readonly validFrom: Date | string;
  readonly validTo: Date | string | null;
  readonly refersFrom: string | null;
  readonly refersTo: string | null;
  readonly tool: string | null;
  readonly termBy: string | null;
  readonly sameAs: MemoryId | null;
  readonly otherwise: { id: MemoryId; by: string; at: string }[] | null;
}

/** A row that was found by its words, and how well they fit. */
export interface ScoredMemory extends RawMemory {
  score: number;
}

/** What others say otherwise, where it shows wherever the memory does: an imported one may show in fewer places. */
export const OTHERWISE = `(
    select jsonb_agg(jsonb_build_object('id', o.id, 'by', o.asserted_by, 'at', o.valid_from) order by o.valid_from, o.id)
      from memory_disputes d join memories o on o.id = d.other_id where d.memory_id = m.id and o.valid_to is null
       and (o.scope = 'workspace' or m.scope <> 'workspace')) as otherwise`;
/** How many entries say so in its own words. */
export const OWN_PROOFS = "(select count(*) from memory_sources s where s.memory_id = m.id)";
/** Under the names of {@link RawMemory}, since some statements return them as JSON. */
export const MEMORY_COLUMNS = `m.id, m.type, m.scope, m.subject, m.asserted_by as "assertedBy", m.tool, m.statement, m.importance::numeric(4, 3)::float8 as importance, m.valid_from as "validFrom", m.valid_to as "validTo",
  m.refers_from::text as "refersFrom", m.refers_to::text as "refersTo",
  case when m.type = 'term' then memory_asserter(m.id, m.asserted_by) end as "termBy",
  case when m.valid_to is null then m.same_as end as "sameAs",
  case when m.stands_for and m.valid_to is null
       then (select count(distinct s.seq) from memory_sources s where s.memory_id = m.id or s.memory_id in (
               select f.id from memories f where f.same_as = m.id and f.valid_to is null and f.scope = m.scope))
       else ${OWN_PROOFS} end as proofs, ${OTHERWISE}`;

/** Id of who said it first; null: the agent. */
export const ASSERTER = "memory_asserter(m.id, m.asserted_by)";

export function memoryOf(row: RawMemory): Memory {
  return {
    id: row.id,
    type: row.type,
    scope: row.scope,
    subject: row.subject,
    assertedBy: row.assertedBy,
    statement: row.statement,
    importance: row.importance,
    at: new Date(row.validFrom),
    proofs: row.proofs,
    ...toolOf(row),
    ...refersOf(row),
    ...(row.validTo !== null && { until: new Date(row.validTo) }),
    ...(row.sameAs !== null && { sameAs: row.sameAs }),
    ...dissentOf(row),
  };
}

export function toolOf({ tool }: Pick<RawMemory, "tool">): { tool?: string } {
  return tool === null ? {} : { tool };
}

export function refersOf({ refersFrom: from, refersTo: to }: Pick<RawMemory, "refersFrom" | "refersTo">): {
  refers?: DayRange;
} {
  return from === null || to === null ? {} : { refers: { from, to } };
}

export function dissentOf({ otherwise }: Pick<RawMemory, "otherwise">): { otherwise?: Dissent[] } {
  if (otherwise === null) return {};
  return { otherwise: otherwise.map(({ id, by, at }) => ({ id, assertedBy: by, at: new Date(at) })) };
}
