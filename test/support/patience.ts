import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

/** A wait without a sign of life for this long is given up, ms. */
const SILENT_MS = 60_000;
/** Longest wait in all, ms. */
const LONGEST_MS = 300_000;

/**
 * Bounds a wait by progress, not by the clock: slow work on a busy machine is waited for while it progresses, and a
 * wait without progress is given up.
 */
export class Patience {
  readonly #signOfLife: () => number;
  readonly #silentMs: number;
  readonly #beganAt = performance.now();
  #last: number;
  #lastAt = this.#beganAt;

  /** @param signOfLife a number that changes with progress; left out: unknown */
  constructor(signOfLife: () => number = () => 0, silentMs = SILENT_MS) {
    this.#signOfLife = signOfLife;
    this.#silentMs = silentMs;
    this.#last = signOfLife();
  }

  /** Why to stop waiting; null: continue. Call it at each check. */
  whyOver(): string | null {
    const now = performance.now();
    const sign = this.#signOfLife();
    if (sign !== this.#last) {
      this.#last = sign;
      this.#lastAt = now;
    }
    if (now - this.#lastAt >= this.#silentMs)
      return `there was no sign of life for ${this.#silentMs / 1000} s`;
    return now - this.#beganAt >= LONGEST_MS ? `${LONGEST_MS / 1000} s passed` : null;
  }
}

/** Processor time that counts as a sign of life, in the kernel's hundredths of a second: an idle process uses less in a minute. */
const BUSY_TICKS = 50;

/** A number that changes while a process and its awaited children work; 0 if the system does not provide it. */
export function workOf(pid: number): number {
  try {
    // After the name, which may have spaces: state, ppid, …, utime, stime, cutime, cstime.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return Math.floor(ticks / BUSY_TICKS);
  } catch {
    return 0;
  }
}

const LOOK_EVERY_MS = 50;

/** Waits until nothing is left, as long as the rest changes. */
export async function untilNone<Left>(look: () => Promise<Left | null>): Promise<void> {
  let changes = 0;
  const patience = new Patience(() => changes);
  for (let last = await look(); last !== null;) {
    await delay(LOOK_EVERY_MS);
    const left = await look();
    if (!isDeepStrictEqual(left, last)) changes += 1;
    last = left;
    const why = patience.whyOver();
    if (why !== null) throw new Error(`${why}, and there is left: ${JSON.stringify(left)}`);
  }
}

/** Delay between two checks, ms: it grows with the wait, since a check may be a statement or a process, and other work goes on. */
const LOOKS = { fromMs: 5, toMs: 25, ofWaited: 0.05 };

/** Polls until the condition holds. @throws Error if that can no longer be expected */
export async function until(
  what: string,
  look: () => boolean | Promise<boolean>,
  patience = new Patience(),
): Promise<void> {
  const { fromMs, toMs, ofWaited } = LOOKS;
  const beganAt = performance.now();
  while (!(await look())) {
    const why = patience.whyOver();
    if (why !== null) throw new Error(`No ${what}: ${why}.`);
    const waitedMs = performance.now() - beganAt;
    await delay(Math.min(toMs, Math.max(fromMs, waitedMs * ofWaited)));
  }
}
