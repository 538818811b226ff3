import type { Entry } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";
import type { MemoryDraft, MemorySource, MemoryType } from "../core/memory.ts";
import { normalWords } from "../text/normal-text.ts";
import { tellingTerms } from "../text/terms.ts";

/** By which words and terms the lines of a transcript prove a statement. Pure. */

/** Lines that are noted of each term of a statement, beside its sources. */
const NOTED_LINES = 3;

export type Source = Extract<Entry, { kind: "user" | "assistant" }>;

/** A person's words; a commitment may be the agent's own. */
export function mayBear(entry: Entry, type: MemoryType): entry is Source {
  if (entry.deleted) return false;
  return entry.kind === "user" ? !entry.author.isBot : entry.kind === "assistant" && type === "commitment";
}

export function authorOf(entry: Source): string {
  return entry.kind === "user" ? entry.author.name : "";
}

/** The normal words and the telling terms of the entries that one call looks at, each found out once. */
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

/** Of the terms that anything says which the model has read: the memory's sources, and the newest lines of people, that do. */
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
    const saying = lines.filter((entry) => words.saysTerm(entry, term));
    const noted = saying.filter(({ seq }, place) => proving.has(seq) || place >= saying.length - NOTED_LINES);
    // Nobody says it: it is the model's own word.
    if (noted.length > 0 || words.isBeside(term)) said[term] = noted.map(({ seq }) => seq);
  }
  return said;
}
