/** Time between two lines, ms. */
const EVERY_MS = 20_000;

/** Tells on stderr how far a long run is, and when it will be over. */
export class Progress {
  readonly #all: number;
  readonly #startedAt = performance.now();
  #done = 0;
  #toldAt = performance.now();

  /** @param all how many runs there are */
  constructor(all: number) {
    this.#all = all;
  }

  /** Seconds that each has taken so far, of however many that run side by side. */
  get secondsEach(): string {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    return (seconds / Math.max(1, this.#done)).toFixed(2);
  }

  /** One more is done. @param what came of them so far; asked for where a line is due */
  done(what: () => string): void {
    this.#done++;
    const now = performance.now();
    if (now - this.#toldAt < EVERY_MS || this.#done === this.#all) return;
    this.#toldAt = now;
    const leftMs = ((now - this.#startedAt) / this.#done) * (this.#all - this.#done);
    const minutes = Math.max(0, Math.ceil(leftMs / 60_000));
    console.error(
      `  ${this.#done} of ${this.#all}, ${this.secondsEach} s each, about ${minutes} min left: ${what()}`,
    );
  }
}
