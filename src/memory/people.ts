import { type Memory, type MemoryType, namingOnly, type PersonPage } from "../core/memory.ts";
import { type FoundPeople, NO_PEOPLE, type PeopleWords } from "../store/memory/people.ts";
import { containsQuote, normalWords } from "../text/normal-text.ts";
import { EDGELESS } from "../text/scripts.ts";
import { rankDocuments, terms } from "../text/terms.ts";
import { asksOfSelf } from "./own-words.ts";
import { wantedBy } from "./recall-worth.ts";

/**
 * Pages of people: what is remembered of a person and in force, read from the memories at each question. Nothing of a page is stored,
 * so a deletion has nothing to take from it. Pure.
 */

/** Whose pages a text asks for. */
export interface PeopleAsked extends PeopleWords {
  readonly text: string;
  /** Words of the text that may begin a name. */
  readonly inText: readonly string[];
  /** An asker's name, in the form of {@link normalWords}; null: several ask, or nobody asks anything. */
  readonly asker: string | null;
  /** The asker asks about themselves. */
  readonly isOfSelf: boolean;
}

const ASKS_NOBODY: PeopleAsked = { ...NO_PEOPLE, text: "", inText: [], asker: null, isOfSelf: false };

/** Words of one text that may be names, and parts of its words in scripts without edges of words. */
const MOST_WORDS = 60;
const MOST_PARTS = 120;
/** Characters of a name in such a script. */
const LONGEST_PART = 5;
/** Statements of all pages, and on that of a person who only asks. */
const MOST_LINES = 40;
const MOST_OWN_LINES = 8;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** Kinds of statement in the order of a page. Of other subjects a page has what its person decides, wants and plans. */
const ORDER: readonly MemoryType[] = [
  "identity",
  "fact",
  "preference",
  "goal",
  "commitment",
  "todo",
  "decision",
  "event",
  "observation",
];
const OF_OTHER_SUBJECTS: ReadonlySet<MemoryType> = new Set([
  "identity",
  "preference",
  "goal",
  "commitment",
  "todo",
  "decision",
]);

/**
 * Whose pages a text asks for: those of the people whom it names, and that of its author if it is a question.
 * @param askers names of the people whose text it is, as the log has them
 */
export function peopleAsked(text: string, askers: readonly string[]): PeopleAsked {
  if (wantedBy(text) === "told") return ASKS_NOBODY;
  const [name] = askers;
  const asker = name === undefined || askers.length > 1 ? null : normalWords(name);
  const inText = nameWords(text);
  const own = firstWord(asker ?? "");
  const isOfSelf = asksOfSelf(text, askers) !== null;
  const isNamed = own === "" || inText.includes(own);
  return {
    text,
    inText,
    words: isNamed ? inText : [...inText, own],
    asking: isNamed || isOfSelf ? "" : own,
    asker,
    isOfSelf,
  };
}

/** Most statements on the pages that a text asks for. */
export function mostOnPages({ words }: PeopleAsked): number {
  return words.length === 0 ? 0 : MOST_LINES;
}

/** Words that may begin a name, in lower case: not the most common ones, unless they have a capital. */
function nameWords(text: string): string[] {
  const found = new Set<string>();
  const parts = new Set<string>();
  for (const [word] of text.normalize("NFKC").matchAll(WORD)) {
    const plain = normalWords(word);
    if (EDGELESS.test(word)) for (const part of partsOf(plain)) parts.add(part);
    else if (plain !== word || terms(word).length > 0) {
      found.add(plain);
      // "Anns Kinder": a genitive without an apostrophe.
      if (plain.length > 3 && plain.endsWith("s")) found.add(plain.slice(0, -1));
    }
    if (found.size >= MOST_WORDS || parts.size >= MOST_PARTS) break;
  }
  return [...found, ...[...parts].slice(0, MOST_PARTS)];
}

function partsOf(word: string): string[] {
  const characters = Array.from(word);
  return characters.flatMap((_, from) =>
    Array.from({ length: Math.min(LONGEST_PART, characters.length - from) }, (__, index) =>
      characters.slice(from, from + index + 1).join(""),
    ),
  );
}

function firstWord(name: string): string {
  return name.split(" ")[0] ?? "";
}

/** A memory with the page on which it stands. */
export type PagedMemory = Memory & { readonly page: PersonPage };

/**
 * The pages that a text asks for, page by page, those of people whom it asks about first. On each the statements that fit the text best
 * stand first, then the most important ones, of equals the newest: a shorter page is the beginning.
 */
export function pagesOf(asked: PeopleAsked, { people, memories }: FoundPeople): PagedMemory[] {
  const names = [...new Set(people.map(normalWords))];
  const named = namedIn(asked, names);
  const pages = [...new Set([...named, ...(asked.asker === null ? [] : [asked.asker])])];
  const fits = fitsOf(asked.text, memories);
  const lines = pages.flatMap((person) => {
    const isAskedAbout = named.includes(person) || (person === asked.asker && asked.isOfSelf);
    const of = memories.filter((memory) => personOf(memory, names) === person);
    const name = shownName(person, of);
    return of
      .toSorted((a, b) => (fits.get(b) ?? 0) - (fits.get(a) ?? 0))
      .slice(0, isAskedAbout ? MOST_LINES : MOST_OWN_LINES)
      .map((memory) => ({ ...memory, page: { name, isAskedAbout } }));
  });
  return lines.slice(0, MOST_LINES);
}

/** The people whom the text names: in full, or by the first word where nobody with that word is named in full. */
function namedIn({ text, inText }: PeopleAsked, names: readonly string[]): string[] {
  const said = normalWords(text);
  const whole = names.filter((name) => containsQuote(said, name));
  const longest = whole.filter((name) => !whole.some((other) => other.startsWith(`${name} `)));
  const taken = new Set(longest.map(firstWord));
  return names.filter((name) => {
    const first = firstWord(name);
    return longest.includes(name) || (!taken.has(first) && inText.includes(first));
  });
}

/** On whose page it stands; undefined: on nobody's. @param names of people, in the form of {@link normalWords} */
function personOf({ subject, assertedBy, type }: Memory, names: readonly string[]): string | undefined {
  const [about = ""] = normalWords(subject).split(/ (?:and|und|et|y|e|и) /u);
  const owner = about.includes(" s ") ? about.slice(0, about.indexOf(" s ")) : about;
  const whole = names.find((name) => name === owner);
  if (whole !== undefined) return whole;
  const first = names.filter((name) => firstWord(name) === owner);
  if (first.length === 1) return first[0];
  const speaker = normalWords(assertedBy);
  return OF_OTHER_SUBJECTS.has(type) ? names.find((name) => name === speaker) : undefined;
}

/** Whether a memory stands on the page of a person of this name. */
export function isOnPageOf(memory: Memory, name: string): boolean {
  const { until, sameAs, type, tool } = memory;
  const person = normalWords(name);
  return (
    until === undefined &&
    sameAs === undefined &&
    tool === undefined &&
    type !== "term" &&
    personOf(memory, [person]) === person
  );
}

/** As memories that show here have the name. */
function shownName(person: string, memories: readonly Memory[]): string {
  const own = memories.find(({ assertedBy }) => normalWords(assertedBy) === person)?.assertedBy;
  const about = memories.find(({ subject }) => normalWords(subject) === person)?.subject;
  return own ?? about ?? memories[0]?.subject.replace(/['’]s\s.*/su, "") ?? person;
}

function fitsOf(text: string, memories: readonly Memory[]): ReadonlyMap<Memory, number> {
  const found = rankDocuments(
    text,
    memories.map(({ subject, statement }) => `${subject} ${statement}`),
  );
  return new Map(
    found.flatMap(({ index, score }) => {
      const memory = memories[index];
      return memory === undefined ? [] : [[memory, score] as const];
    }),
  );
}

/** The lines of a page in their order: by kind, the newest last. */
export function inPageOrder<One extends Pick<Memory, "type" | "at">>(memories: readonly One[]): One[] {
  return memories.toSorted(
    (a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type) || a.at.getTime() - b.at.getTime(),
  );
}

/**
 * Adds pages to what was recalled; no memory is there twice.
 * @param recalled the best first
 * @param limit of those that stand on no page
 * @returns the recalled ones, then those that stand on pages alone
 */
export function withPages(
  recalled: readonly Memory[],
  pages: readonly PagedMemory[],
  limit: number,
): Memory[] {
  const onPages = new Map(pages.map((memory) => [memory.id, memory]));
  const others = recalled.filter(({ id }) => !onPages.has(id)).slice(0, limit);
  const isRecalled = new Set(recalled.slice(0, limit).map(({ id }) => id));
  const paged = pages.map((memory) =>
    isRecalled.has(memory.id) ? memory : { ...memory, isOnPageAlone: true as const },
  );
  const shown = [...others, ...paged];
  const ids = shown.map(({ id }) => id);
  return shown.map((memory) => namingOnly(memory, ids));
}
