/**
 * What ranks lines of the log, by seq: in columns, a line being a place in all of them. Texts are read of those lines alone that
 * are shown. A recall has hundreds of lines, and as objects with texts of their own they were most of what it left to the collector.
 */
export interface LineColumns {
  /** The lines as `find_lines` returns them, with the places of their words. */
  readonly told: string;
  readonly count: number;
  readonly seqs: Float64Array;
  /** When each was said, ms. */
  readonly times: Float64Array;
  readonly authors: readonly string[];
  /** Which of {@link authors} said it. */
  readonly saidBy: Uint32Array;
  /** 1: something in it asks. */
  readonly asks: Uint8Array;
  /**
   * From where, and up to where, its lexemes stand in {@link told}: each between two spaces, and as often as it is said (three times at
   * most). Of a long line only those that were asked for.
   */
  readonly wordsFrom: Uint32Array;
  readonly wordsTo: Uint32Array;
  /** Number of lexemes of each line; of a long line only a lower bound. */
  readonly lengths: Float64Array;
}

/** Assumed length of a line with too many lexemes to list; its true length is not smaller. */
const LONG = 200;

const SPACE = " ".charCodeAt(0);
const ZERO = "0".charCodeAt(0);

/** Lines as `find_lines` tells them. Pure. @param tellings null: none; the last one of a line counts */
export function readLines(...tellings: readonly (string | null)[]): LineColumns {
  const told = tellings.filter((one) => one !== null && one !== "").join("\n");
  const lines = readInOrder(told);
  const isInOrder = lines.seqs.every((seq, place) => place === 0 || seq > (lines.seqs[place - 1] ?? 0));
  return isInOrder ? lines : readInOrder(bySeq(told));
}

function bySeq(told: string): string {
  const lines = new Map(told.split("\n").map((line) => [Number.parseInt(line, 10), line]));
  return [...lines]
    .toSorted(([a], [b]) => a - b)
    .map(([, line]) => line)
    .join("\n");
}

function readInOrder(told: string): LineColumns {
  const count = told === "" ? 0 : occurrences(told, "\n") + 1;
  const columns = {
    seqs: new Float64Array(count),
    times: new Float64Array(count),
    saidBy: new Uint32Array(count),
    asks: new Uint8Array(count),
    wordsFrom: new Uint32Array(count),
    wordsTo: new Uint32Array(count),
    lengths: new Float64Array(count),
  };
  const authors = new Map<string, number>();
  for (let place = 0, from = 0; place < count; place++) {
    const marks = told.indexOf("\t", from) + 1;
    const time = told.indexOf("\t", marks) + 1;
    const author = told.indexOf("\t", time) + 1;
    const words = told.indexOf("\t", author) + 1;
    const lineEnd = told.indexOf("\n", words);
    const to = lineEnd < 0 ? told.length : lineEnd;
    const isLong = told.startsWith("l", marks);
    const name = told.slice(author, words - 1);
    const known = authors.get(name) ?? authors.size;
    if (known === authors.size) authors.set(name, known);
    columns.seqs[place] = wholeNumber(told, from, marks - 1);
    columns.times[place] = wholeNumber(told, time, author - 1) * 1000;
    columns.saidBy[place] = known;
    columns.asks[place] = told.startsWith("?", isLong ? marks + 1 : marks) ? 1 : 0;
    columns.wordsFrom[place] = words;
    columns.wordsTo[place] = to;
    columns.lengths[place] = isLong ? LONG : Math.max(0, spaces(told, words, to) - 1);
    from = to + 1;
  }
  return { told, count, authors: [...authors.keys()], ...columns };
}

function occurrences(text: string, sought: string): number {
  let found = 0;
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + 1)) found++;
  return found;
}

function spaces(text: string, from: number, to: number): number {
  let found = 0;
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === SPACE) found++;
  return found;
}

/** Of its digits; a text of its own for each number would be garbage. */
function wholeNumber(text: string, from: number, to: number): number {
  const isNegative = text.startsWith("-", from);
  let value = 0;
  for (let at = isNegative ? from + 1 : from; at < to; at++) value = value * 10 + text.charCodeAt(at) - ZERO;
  return isNegative ? -value : value;
}
