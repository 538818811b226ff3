/** The ts values of one channel as Slack makes them: `1763712000.000100`, unique and rising within the channel only. */
export class Timestamps {
  readonly #now: () => number;
  #last = 0;

  /** @param now ms since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts anew in every second, so that two channels share values: nobody may take a ts for unique by itself. */
  next(): string {
    const second = Math.floor(this.#now() / 1000) * 1_000_000;
    this.#last = Math.max(second, this.#last) + 100;
    return toTs(this.#last);
  }
}

/** µs since the epoch of a ts as a client may write it: `0`, `1763712000`, `1763712000.0001`. NaN for anything else. */
export function toMicros(ts: string): number {
  const [seconds = "", fraction = ""] = ts.split(".");
  if (!/^\d+$/.test(seconds) || !/^\d{0,6}$/.test(fraction)) return Number.NaN;
  return Number(seconds) * 1_000_000 + Number(fraction.padEnd(6, "0"));
}

function toTs(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  return `${seconds}.${String(micros % 1_000_000).padStart(6, "0")}`;
}
