/** A long calculation that may be interrupted wherever it yields, so that others have their turn meanwhile. */
export type Slices<Result> = Generator<undefined, Result, void>;

/** Says when a slice is over. By work done and not by the clock: the same work always has the same slices. */
export class SliceCounter {
  readonly #size: number;
  #left: number;

  /** @param size of a slice, in whatever the caller counts */
  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** @returns true where the slice is over with it */
  isOver(work: number): boolean {
    this.#left -= work;
    if (this.#left > 0) return false;
    this.#left = this.#size;
    return true;
  }
}
