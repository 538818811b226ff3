import type { Memory } from "../../core/memory.ts";
import { MEMORY_COLUMNS, memoryOf, type RawMemory } from "./memory-rows.ts";
import { ASKING_PARENT, visibleMemories } from "./memory-scope.ts";

/** People who have spoken where a question is asked, and the memories whose subject or speaker has the name of one. */
export interface FoundPeople {
  /** Their names in lower case. */
  readonly people: readonly string[];
  /** In force; the most important first, of equals the newest. */
  readonly memories: readonly Memory[];
}

/** As {@link foundPeople} selects it. */
export interface RawPeople {
  readonly people: readonly string[];
  readonly memories: readonly RawMemory[];
}

export const NOBODY: FoundPeople = { people: [], memories: [] };

/** As its index has it, of `memories m`: the words of its subject and of its speaker's name. */
const NAMED_IN = "regexp_split_to_array(normal_text(m.subject || ' ' || m.asserted_by), ' ')";
/** As its index has it, of `speakers s`. */
const FIRST_WORD = "split_part(normal_text(s.name), ' ', 1)";

export interface PeopleWords {
  /** The first words of their names, in lower case. An empty list finds nobody. */
  readonly words: readonly string[];
  /** The one of a person who only asks: of this one alone, fewer memories are read. "": nobody only asks. */
  readonly asking: string;
}

export const NO_PEOPLE: PeopleWords = { words: [], asking: "" };

/** Most memories of all people of one question, and of a person who only asks. */
const MOST_MEMORIES = 120;
const MOST_OF_ASKING = 24;

/**
 * Selects a JSON object with {@link RawPeople}, by the parameters of a search for visible memories. Names decide only who is a person:
 * which memories show is decided by their scope. Without a person of these names, no memory is read.
 * @param first the number of the first of {@link peopleValues}
 */
export function foundPeople(first: number): string {
  const memories = visibleMemories(
    `exists (select from people) and ${NAMED_IN} && array(select p.first from people p) and m.type <> 'term' and m.tool is null`,
  );
  return `(with people as materialized (
      select distinct ${FIRST_WORD} as first, case when s.number = 1 then s.name else s.name || ' (' || s.number || ')' end as name
        from speakers s
       where ${FIRST_WORD} = any($${first}::text[])
         and (s.channel_id = $2 or $4 <> 'dm' and exists (
           select from channels c where c.id = s.channel_id and c.kind = 'channel' and (
             c.id = ${ASKING_PARENT} or $3 <> '' and c.workspace = $3 and c.is_private = false and c.shares_memory))))
    select json_build_object(
      'people', (select coalesce(json_agg(distinct p.name), '[]') from people p),
      'memories', (select coalesce(json_agg(w), '[]') from (
        select ${MEMORY_COLUMNS} from (
          ${memories}
        ) m order by m.importance desc, m.id desc limit
          case when exists (select from people p where p.first <> $${first + 1}) then ${MOST_MEMORIES} else ${MOST_OF_ASKING} end) w)))`;
}

export function peopleValues({ words, asking }: PeopleWords): unknown[] {
  return [words, asking];
}

/** @param found undefined: nobody was looked for */
export function readPeople(found: RawPeople | undefined): FoundPeople {
  return found === undefined ? NOBODY : { people: found.people, memories: found.memories.map(memoryOf) };
}
