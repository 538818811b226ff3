/** Events that are held at a time. */
const MAX_HELD = 10_000;

/**
 * Holds events back from the loss of a connection until it is known what was missed: what is replayed comes before the
 * gateway says whether that is all.
 */
export class Hold {
  #isHeld = true;
  #held: (() => void)[] = [];
  #isOver = false;

  /** Runs it now, or when it is released. Too many of them are dropped, all: then they are missing, and are fetched. */
  pass(event: () => void): void {
    if (!this.#isHeld) return event();
    if (!this.#isOver) this.#held.push(event);
    if (this.#held.length <= MAX_HELD) return;
    this.#isOver = true;
    this.#held = [];
  }

  close(): void {
    this.#isHeld = true;
  }

  open(): void {
    const held = this.#held;
    this.#isHeld = false;
    this.#isOver = false;
    this.#held = [];
    for (const event of held) event();
  }
}
