import { sliceWhole } from "./text.ts";

/** Something that a digest is to keep verbatim: a link, an identifier, a number, a name. */
export interface Fact {
  readonly text: string;
  readonly worth: number;
  /** Where it stands in its sentence, in UTF-16 units. */
  readonly from: number;
  readonly to: number;
}

const LINK = /https?:\/\/[^\s<>")]+/g;
/**
 * Code, issue numbers, inner capitals, underscores, paths. `\b(?<!\bX+?)` is the first `\b` in a run of X: from a later
 * one the whole run would only be read again, as often as it has them (`aéaéaé…`), and no more be found.
 */
const IDENTIFIER = new RegExp(
  [
    /`[^`\s]+`|#\d+/u,
    /\b(?<!\b\p{Ll}+?)\p{Ll}+\p{Lu}[\p{L}\p{N}_]*/u,
    /\b(?<!\b[\p{L}\p{N}]+?)[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+/u,
    /~?(?:\/[\w.-]+){2,}/u,
    /\b(?<!\b[\w.-]+?)[\w.-]+\/[\w./-]+/u,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);
const NUMBER = /(?<![\p{L}\p{N}_.])\d+(?:[.,:]\d+)*(?![\p{L}\p{N}_])/gu;
/** A capital inside a sentence; in German that is every noun, which costs little. */
const NAME = /(?<=[\p{Ll},] )\p{Lu}\p{Ll}{2,}/gu;

const PATTERNS: readonly (readonly [pattern: RegExp, worth: number])[] = [
  [LINK, 1.5],
  [IDENTIFIER, 1.2],
  [NUMBER, 1],
  [NAME, 1],
];

/** The facts of a sentence, as they stand in it; what is part of a longer one is none of its own. */
export function factsOf(sentence: string): Fact[] {
  let found: Fact[] = [];
  for (const [pattern, worth] of PATTERNS) {
    const added: Fact[] = [];
    let next = 0;
    for (const { 0: text, index: from } of sentence.matchAll(pattern)) {
      const to = from + text.length;
      // Both lists are in order, and neither overlaps itself: one look at each is enough.
      while ((found[next]?.to ?? Infinity) <= from) next++;
      if ((found[next]?.from ?? Infinity) >= to) added.push({ text, worth, from, to });
    }
    found = [...found, ...added].toSorted((a, b) => a.from - b.from);
  }
  return found;
}

/** A sentence up to here is quoted whole, in UTF-16 units; of a longer one so much stands on each side of its facts. */
const WHOLE = 48;
const AROUND = 10;

/** The part of a long sentence round its facts, whole words, with `…` for what is left out. */
export function excerptOf(sentence: string, facts: readonly Fact[]): string {
  if (sentence.length <= WHOLE || facts.length === 0) return sentence;
  const parts: string[] = [];
  let end = 0;
  for (const { from, to } of facts.toSorted((a, b) => a.from - b.from)) {
    const begin = Math.max(end, wordStart(sentence, from - AROUND));
    const last = Math.max(end, wordEnd(sentence, to + AROUND));
    if (last <= end) continue;
    parts.push(`${begin > end ? "…" : ""}${sliceWhole(sentence, begin, last)}`);
    end = last;
  }
  const excerpt = parts.join("").trim() + (end < sentence.length ? "…" : "");
  return excerpt.length < sentence.length ? excerpt : sentence;
}

function wordStart(text: string, index: number): number {
  if (index <= 0) return 0;
  // Not in the whole text: that may have no space, and be asked about at each of its facts.
  const space = text.slice(index, index + AROUND + 1).indexOf(" ");
  return space < 0 ? index : index + space + 1;
}

function wordEnd(text: string, index: number): number {
  if (index >= text.length) return text.length;
  const from = Math.max(0, index - AROUND);
  const space = text.slice(from, index + 1).lastIndexOf(" ");
  return space < 0 ? index : from + space;
}
