import { performance } from "node:perf_hooks";
import process from "node:process";
import { types } from "node:util";
import { createContext, Script } from "node:vm";

/** How the time of work grows with its text. */

/** Two lengths, in UTF-16 units, whose times are compared, and how many times as long the longer may take. */
interface Step {
  readonly short: number;
  readonly long: number;
  readonly most: number;
}
/** A square takes 16 times as long. */
const JUDGED: Step = { short: 25_000, long: 100_000, most: 6 };
/** Finds what would take minutes for a long text; a square takes 25 times as long. */
const EARLY: Step = { short: 1000, long: 5000, most: 16 };
/** Asked last: a machine takes longer for the first length that needs more memory than it had at hand. */
const FURTHER: Step = { short: 100_000, long: 400_000, most: 10 };
/** Below that a time says nothing. The square of 25,000 takes longer, even if a step takes twenty characters. */
const NOISE_MS = 1;
/** Memory alone never makes a text take so long. */
const CERTAIN_MS = 500;
/** The early look is for what would take seconds for the judged length. */
const EARLY_MS = 3;
/** What looks slow is measured so often, and for so long: other work may share its caches only now and then. */
const RUNS = 5;
const WATCHED_MS = 3000;

export interface Growing {
  readonly name: string;
  text(length: number): string;
}

export type Work = (text: string) => unknown;

/** @returns the lengths and times, where the time grows faster than the text; null: it does not */
export function superLinear(work: Work, growing: Growing): string | null {
  const first = timeOf(work, growing, EARLY.long);
  // Its square is noise at the next length as well.
  if (first < NOISE_MS * (EARLY.long / JUDGED.short) ** 2) return null;
  const early = first < 2 * NOISE_MS ? null : compare(work, growing, EARLY);
  if (early !== null || timeOf(work, growing, JUDGED.short) < NOISE_MS) return early;
  const judged = compare(work, growing, JUDGED);
  if (judged === null || timeOf(work, growing, JUDGED.long) > CERTAIN_MS) return judged;
  return compare(work, growing, FURTHER);
}

/** The first text for which work takes too long; null: there is none. */
export function firstSlow(work: Work, texts: Iterable<Growing>): string | null {
  for (const text of texts) {
    // Measured again where it looks slow: other work may have shared the machine's caches all the while.
    const why = superLinear(work, text) === null ? null : superLinear(work, text);
    if (why !== null) return why;
  }
  return null;
}

function timeOf(work: Work, growing: Growing, length: number): number {
  return time(work, growing.text(length), 1);
}

/** The best of many of each, and the short text as often in a row as makes it as long as the other: so both are disturbed as often. */
function compare(work: Work, growing: Growing, { short, long, most }: Step): string | null {
  const times = long / short;
  const [shortText, longText] = [growing.text(short), growing.text(long)];
  let [shortest, longest] = [Infinity, Infinity];
  const beganAt = performance.now();
  for (let run = 0; run < RUNS || performance.now() - beganAt < WATCHED_MS; run++) {
    shortest = Math.min(shortest, time(work, shortText, times) / times);
    longest = Math.min(longest, time(work, longText, 1));
    // A square that passed the early look takes long: two measures agree there.
    const isLong = longest >= (short > EARLY.short ? NOISE_MS : EARLY_MS);
    if ((run > 0 || short > EARLY.short) && (!isLong || longest <= most * shortest)) return null;
    // So long a time twice is no interruption, and five of them would take minutes.
    if (run > 0 && longest > CERTAIN_MS) break;
  }
  return `${growing.name}: ${shortest.toFixed(2)} ms for ${short} characters, ${longest.toFixed(2)} ms for ${long}`;
}

/** Processor time of this thread, ms: by the clock it would be as long as whatever else the machine does. */
export function time(work: Work, text: string, times: number): number {
  const before = process.threadCpuUsage();
  for (let run = 0; run < times; run++) work(text);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

const CALL = new Script("work()");

/** Least processor time of work that does not end, as a share of what it may take: on a busy machine it gets less of the time. */
const ENDLESS_SHARE = 0.5;

/** Ends work that does not end by itself, inside a regular expression as well. @param afterMs of processor time */
export function stopping(afterMs: number, work: () => string | null): string | null {
  for (let withinMs = afterMs; ; withinMs *= 2) {
    let found: string | null = `no end after ${afterMs} ms`;
    const kept = (): void => {
      found = work();
    };
    let isLate = false;
    const usedMs = time(() => (isLate = !endsWithin(withinMs, kept)), "", 1);
    if (!isLate || usedMs > ENDLESS_SHARE * afterMs) return found;
  }
}

/** @param ms by the clock @returns false: the work was stopped */
function endsWithin(ms: number, work: () => void): boolean {
  try {
    CALL.runInContext(createContext({ work }), { timeout: ms });
    return true;
  } catch (error) {
    // It is an error of the other context, and no instance of this one's.
    const isLate =
      types.isNativeError(error) && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    if (!isLate) throw error;
    return false;
  }
}
