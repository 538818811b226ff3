import type { Seq } from "../../core/ids.ts";

/** What ranks a line of the log; its text is read of those alone that are shown. */
export interface FoundLine {
  readonly seq: Seq;
  /** When it was said, ms; null: an older version indexed it. */
  readonly at: number | null;
  /** "" where an older version indexed it. */
  readonly author: string;
  /** Something in it asks. */
  readonly asks: boolean;
  /**
   * Its lexemes, each between two spaces, and as often as it is said (three times at most). Of a long line, and of one that an
   * older version indexed, those alone that were asked for.
   */
  readonly words: string;
  /** How many lexemes it has; null: it is not known. */
  readonly length: number | null;
}

/** What a line has at least whose lexemes are too many to be told. */
const LONG = 200;

/** Lines as `find_lines` tells them, by seq. Pure. @param told null: none */
export function readLines(told: string | null): FoundLine[] {
  if (told === null) return [];
  return told
    .split("\n")
    .map(readLine)
    .toSorted((a, b) => a.seq - b.seq);
}

function readLine(line: string): FoundLine {
  const [seq = "", marks = "", at = "", author = "", words = ""] = line.split("\t");
  const isOld = at === "";
  return {
    seq: Number(seq),
    at: isOld ? null : Number(at) * 1000,
    author,
    asks: marks.includes("?"),
    words,
    length: isOld ? null : marks.startsWith("l") ? LONG : Math.max(0, spaces(words) - 1),
  };
}

function spaces(words: string): number {
  let found = 0;
  for (let at = words.indexOf(" "); at >= 0; at = words.indexOf(" ", at + 1)) found++;
  return found;
}
