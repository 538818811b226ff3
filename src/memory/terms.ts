/** Which terms of a query pick the candidates of a search. Pure. */

/** A lexeme that the planner's statistics do not list is rarer than this. */
const RARE = 0.0005;
/** The candidates that the picking terms may bring together, as a share of a channel. */
const PICK_SHARE = 0.02;
/** Most terms of one query; a pasted log is no question. */
const MAX_TERMS = 32;

export interface SearchTerms {
  /** The rarest terms: they alone touch the index. */
  readonly pick: readonly string[];
  /** All terms: they rank. */
  readonly rank: readonly string[];
}

/**
 * All terms through the index cost 109 ms in a channel of 100,000 entries, the rarest alone 1.1 ms: so the rarest
 * pick (at least three, more while they stay rare) and all rank.
 * @param frequencies share of entries that hold a lexeme; common ones only
 */
export function chooseTerms(
  lexemes: readonly string[],
  frequencies: ReadonlyMap<string, number>,
): SearchTerms {
  const rank = lexemes
    .map((lexeme) => ({ lexeme, frequency: frequencies.get(lexeme) ?? RARE }))
    .toSorted((a, b) => a.frequency - b.frequency)
    .slice(0, MAX_TERMS);
  let share = 0;
  const pick = rank.filter(({ frequency }, index) => {
    share += frequency;
    return index < 3 || share <= PICK_SHARE;
  });
  return { pick: pick.map(({ lexeme }) => lexeme), rank: rank.map(({ lexeme }) => lexeme) };
}

/** Lexemes OR-ed as a tsquery literal: AND found 10 % of the evidence of a public benchmark, OR 58 %. */
export function orQuery(lexemes: readonly string[]): string {
  return lexemes.map((lexeme) => `'${lexeme.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`).join(" | ");
}

/** Scripts without spaces, and words that look like identifiers: full-text search finds 1 % of them, pieces 92 %. */
const PIECES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]{2,}|\S*[_./:@#-]\S*\w|\w*[a-z][A-Z]\w*/u;

/** True where a query is better served letter by letter. */
export function wantsPieces(query: string): boolean {
  return PIECES.test(query);
}

/** Joins the ranked lists of several arms: a hit counts by its places, not by scores that do not compare. */
export function fuseRanks(lists: readonly (readonly number[])[]): number[] {
  const scores = new Map<number, number>();
  for (const list of lists) {
    for (const [place, seq] of list.entries()) scores.set(seq, (scores.get(seq) ?? 0) + 1 / (60 + place));
  }
  return [...scores.entries()].toSorted((a, b) => b[1] - a[1] || b[0] - a[0]).map(([seq]) => seq);
}
