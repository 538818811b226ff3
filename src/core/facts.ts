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
/** Code, issue numbers, inner capitals, underscores, paths. */
const IDENTIFIER =
  /`[^`\s]+`|#\d+|\b\p{Ll}+(?:\p{Lu}[\p{L}\p{N}_]*)+|\b[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+|~?(?:\/[\w.-]+){2,}|\b[\w.-]+\/[\w./-]+/gu;
const NUMBER = /(?<![\p{L}\p{N}_.])\d+(?:[.,:]\d+)*(?![\p{L}\p{N}_])/gu;
/** A capital inside a sentence; in German that is every noun, which costs little. */
const NAME = /(?<=[\p{Ll},] )\p{Lu}\p{Ll}{2,}/gu;

const PATTERNS: readonly (readonly [pattern: RegExp, worth: number])[] = [
  [LINK, 1.5],
  [IDENTIFIER, 1.2],
  [NUMBER, 1],
  [NAME, 1],
];

/** The facts of a sentence; what is part of a longer one is none of its own. */
export function factsOf(sentence: string): Fact[] {
  const found: Fact[] = [];
  for (const [pattern, worth] of PATTERNS) {
    for (const match of sentence.matchAll(pattern)) {
      const [text] = match;
      const fact = { text, worth, from: match.index, to: match.index + text.length };
      if (!found.some(({ from, to }) => fact.from < to && from < fact.to)) found.push(fact);
    }
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
  const space = text.indexOf(" ", index);
  return space < 0 || space > index + AROUND ? index : space + 1;
}

function wordEnd(text: string, index: number): number {
  if (index >= text.length) return text.length;
  const space = text.lastIndexOf(" ", index);
  return space < index - AROUND ? index : space;
}
