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
const NUMBER = /(?<![\p{L}\p{N}_.])\d+(?:[.,:-]\d+)*(?![\p{L}\p{N}_])/gu;
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
