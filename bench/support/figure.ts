/** A benchmark is a figure with rows, each with a bar to reach. */

export type Bar = { readonly atMost: number } | { readonly atLeast: number };

/** One measured number. */
export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** Undefined: reported without a bar. */
  readonly bar?: Bar;
}

export interface Bench {
  /** A tenth of the work: to check that it runs, not for publication. */
  readonly isQuick: boolean;
  /** Only rows that have bars need to be measured. */
  readonly isCheck: boolean;
  /** A folder with recorded conversations; null: none was given. */
  readonly recordings: string | null;
  /** Only the conversations for choosing weights, or the others; null: all. */
  readonly split: "tune" | "report" | null;
  /** Shows a person the current step. */
  progress(text: string): void;
}

export interface Figure {
  /** As in `npm run bench -- NAME`. */
  readonly name: string;
  readonly about: string;
  readonly needsRecordings?: boolean;
  run(bench: Bench): Promise<Row[]>;
}

/** @returns false if a bar is missed */
export function reachesBar({ value, bar }: Row): boolean {
  if (bar === undefined) return true;
  return "atMost" in bar ? value <= bar.atMost : value >= bar.atLeast;
}

/** The quantile of the numbers; NaN: there are none. */
export function quantile(numbers: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(numbers).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(numbers: Iterable<number>): number {
  return quantile(numbers, 0.5);
}

export function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

/** Milliseconds by a clock that all processes of this machine share. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
