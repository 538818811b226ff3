import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

/** Without a sign of life for so long there is nothing to wait for, ms. */
const SILENT_MS = 60_000;
/** Whatever happens meanwhile, ms. */
const LONGEST_MS = 300_000;

/**
 * Bounds a wait by progress and not by the clock: what a busy machine does slowly is waited for as long as it gets on, and what
 * never comes is given up.
 */
export class Patience {
  readonly #signOfLife: () => number;
  readonly #silentMs: number;
  readonly #beganAt = performance.now();
  #last: number;
  #lastAt = this.#beganAt;

  /** @param signOfLife another number as long as what is waited for gets on; left out: nothing tells */
  constructor(signOfLife: () => number = () => 0, silentMs = SILENT_MS) {
    this.#signOfLife = signOfLife;
    this.#silentMs = silentMs;
    this.#last = signOfLife();
  }

  /** Why waiting longer is of no use; null: go on. Ask it at each look. */
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

/** Processor time that counts as a sign of life, in the kernel's hundredths of a second: what is idle uses less in a minute. */
const BUSY_TICKS = 50;

/** A number that changes while a process and the children that it has waited for do work; 0 where the system does not tell. */
export function workOf(pid: number): number {
  try {
    // Behind the name, which may have spaces: state, ppid, …, utime, stime, cutime, cstime.
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

/** Looks at something until there is none of it any more, for as long as it changes. */
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

/** Between two looks, ms: more the longer it takes, as a look may be a statement or a process, and others are at work meanwhile. */
const LOOKS = { fromMs: 5, toMs: 25, ofWaited: 0.05 };

/** Looks until there is what is waited for. @throws Error if that is not to be expected any more */
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
