import { type LineColumns, readLines } from "../../src/store/search/found-lines.ts";

/** One line of columns. */
export interface FoundLine {
  readonly seq: number;
  /** Ms. */
  readonly at: number;
  readonly author: string;
  readonly asks: boolean;
  readonly words: string;
  readonly length: number;
}

/** Lines, by seq, in the form of `find_lines`, with their given lengths. */
export function columnsOf(lines: readonly FoundLine[]): LineColumns {
  const told = lines.map(({ seq, at, author, asks, words }) =>
    [seq, asks ? "?" : "", Math.floor(at / 1000), author, words].join("\t"),
  );
  const columns = readLines(told.join("\n"));
  return {
    ...columns,
    times: Float64Array.from(lines, ({ at }) => at),
    lengths: Float64Array.from(lines, ({ length }) => length),
  };
}

export function linesOf(columns: LineColumns): FoundLine[] {
  const { told, seqs, times, authors, saidBy, asks, wordsFrom, wordsTo, lengths } = columns;
  return Array.from(seqs, (seq, place) => {
    return {
      seq,
      at: times[place] ?? Number.NaN,
      author: authors[saidBy[place] ?? -1] ?? "?",
      asks: asks[place] === 1,
      words: told.slice(wordsFrom[place], wordsTo[place]),
      length: lengths[place] ?? Number.NaN,
    };
  });
}
