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

  /** One more is done. */
  done(what: string): void {
    this.#done++;
    const now = performance.now();
    if (now - this.#toldAt < EVERY_MS || this.#done === this.#all) return;
    this.#toldAt = now;
    const leftMs = ((now - this.#startedAt) / this.#done) * (this.#all - this.#done);
    const minutes = Math.ceil(leftMs / 60_000);
    console.error(`  ${this.#done} of ${this.#all}, about ${minutes} min left (${what})`);
  }
}
