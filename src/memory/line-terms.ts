import type { Entry } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";
import type { MemoryDraft, MemorySource, MemoryType } from "../core/memory.ts";
import { normalWords } from "../text/normal-text.ts";
import { tellingTerms } from "../text/terms.ts";

/** The words and terms by which lines of a transcript prove a statement. Pure. */

/** Most entries that are recorded for a term, apart from the sources of its statement. */
const NOTED_LINES = 8;
/** No entry has this seq. */
const ANYWHERE: Seq = 0;

export type Source = Extract<Entry, { kind: "user" | "assistant" }>;

/**
 * Whether an entry may be the source of a memory of this type: a person's message, or for a commitment also the agent's
 * own answer.
 */
export function mayBear(entry: Entry, type: MemoryType): entry is Source {
  if (entry.deleted) return false;
  return entry.kind === "user" ? !entry.author.isBot : entry.kind === "assistant" && type === "commitment";
}

export function authorOf(entry: Source): string {
  return entry.kind === "user" ? entry.author.name : "";
}

/** The normal words and the terms of the entries of one call, each computed once. */
export class Words {
  readonly #known = new Map<Entry, string>();
  readonly #terms = new Map<Entry, ReadonlySet<string>>();
  readonly #names = new Map<string, ReadonlySet<string>>();
  readonly #beside: readonly string[];
  #besideTerms: ReadonlySet<string> | null = null;

  constructor(beside: readonly string[] = []) {
    this.#beside = beside;
  }

  of(entry: Entry): string {
    const known = this.#known.get(entry) ?? normalWords(entry.text);
    this.#known.set(entry, known);
    return known;
  }

  termsOf(entry: Entry): ReadonlySet<string> {
    const known = this.#terms.get(entry) ?? tellingTerms(entry.text);
    this.#terms.set(entry, known);
    return known;
  }

  /** With the author's name. */
  saysTerm(entry: Source, term: string): boolean {
    const name = authorOf(entry);
    const named = this.#names.get(name) ?? tellingTerms(name);
    this.#names.set(name, named);
    return named.has(term) || this.termsOf(entry).has(term);
  }

  isBeside(term: string): boolean {
    this.#besideTerms ??= new Set(this.#beside.flatMap((text) => [...tellingTerms(text)]));
    return this.#besideTerms.has(term);
  }
}

/**
 * Which entries have the terms of a statement: its sources, and others. {@link ANYWHERE}: another text has the term, or too
 * many entries have it. A term that no text has is the model's own word, and is left out.
 */
export function whereSaid(
  telling: ReadonlySet<string>,
  proofs: readonly MemorySource[],
  entries: Iterable<Entry>,
  words: Words,
): NonNullable<MemoryDraft["said"]> {
  const proving = new Set(proofs.map(({ seq }) => seq));
  const lines = [...entries].filter(
    (entry): entry is Source => mayBear(entry, "fact") || proving.has(entry.seq),
  );
  const said: Record<string, readonly Seq[]> = {};
  for (const term of telling) {
    const saying = lines.filter((entry) => words.saysTerm(entry, term)).map(({ seq }) => seq);
    const sources = saying.filter((seq) => proving.has(seq));
    const isAnywhere = words.isBeside(term) || saying.length - sources.length > NOTED_LINES;
    if (saying.length > 0 || isAnywhere) said[term] = isAnywhere ? [...sources, ANYWHERE] : saying;
  }
  return said;
}
