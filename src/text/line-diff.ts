/** A line of a comparison: in both texts, only in the first, or only in the second. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
  /** From 1, in the second text; of a removed line, in the first. */
  readonly number: number;
}

/** Most pairs of lines that are compared: beyond, the whole middle counts as replaced. */
const MOST_PAIRS = 4_000_000;

/** The lines that differ, in order, each with up to `around` lines that do not. Pure. */
export function lineDiff(from: string, to: string, around = 2): DiffLine[] {
  const all = compare(from.split("\n"), to.split("\n"));
  const shown = new Set<number>();
  let next = 0;
  for (const [index, { kind }] of all.entries()) {
    if (kind === "same") continue;
    for (next = Math.max(next, index - around); next <= index + around; next++) shown.add(next);
  }
  return all.filter((_, index) => shown.has(index));
}

function compare(a: readonly string[], b: readonly string[]): DiffLine[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [endA, endB] = [a.length - tail, b.length - tail];
  const same = (first: number, last: number): DiffLine[] =>
    b.slice(first, last).map((text, index) => ({ kind: "same", text, number: first + index + 1 }));
  return [
    ...same(0, head),
    ...middle(a.slice(head, endA), b.slice(head, endB), head),
    ...same(endB, b.length),
  ];
}

/** By the longest common subsequence. @param offset lines before, in both */
function middle(a: readonly string[], b: readonly string[], offset: number): DiffLine[] {
  const width = b.length + 1;
  const isWhole = a.length * b.length > MOST_PAIRS;
  const lengths = new Uint32Array(isWhole ? 0 : (a.length + 1) * width);
  if (!isWhole)
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        lengths[i * width + j] =
          a[i] === b[j]
            ? 1 + (lengths[(i + 1) * width + j + 1] ?? 0)
            : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (!isWhole && left !== undefined && left === right) {
      lines.push({ kind: "same", text: left, number: offset + ++j });
      i++;
    } else if (
      left !== undefined &&
      (right === undefined ||
        isWhole ||
        (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))
    )
      lines.push({ kind: "removed", text: left, number: offset + ++i });
    else lines.push({ kind: "added", text: right ?? "", number: offset + ++j });
  }
  return lines;
}
