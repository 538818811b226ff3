/** The ts values of one channel, like Slack's: `1763712000.000100`, unique and ascending within the channel only. */
export class Timestamps {
  readonly #now: () => number;
  #last = 0;

  /** @param now ms since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Restarts in every second, so that two channels share values, and none is unique by itself. */
  next(): string {
    const second = Math.floor(this.#now() / 1000) * 1_000_000;
    this.#last = Math.max(second, this.#last) + 100;
    return toTs(this.#last);
  }
}

/** A client's ts in µs since the epoch: `0`, `1763712000`, `1763712000.0001`. NaN for anything else. */
export function toMicros(ts: string): number {
  const [seconds = "", fraction = ""] = ts.split(".");
  if (!/^\d+$/.test(seconds) || !/^\d{0,6}$/.test(fraction)) return Number.NaN;
  return Number(seconds) * 1_000_000 + Number(fraction.padEnd(6, "0"));
}

function toTs(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  return `${seconds}.${String(micros % 1_000_000).padStart(6, "0")}`;
}
