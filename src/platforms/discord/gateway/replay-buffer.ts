import { BoundedMap } from "../../../async/bounded-map.ts";

export interface ReplayBufferParts<Event> {
  readonly take: (event: Event) => void;
  /** The channel of an event; null: it is of none. */
  readonly channelOf: (event: Event) => string | null;
  /** An event that no search brings back: it is held where others are dropped. */
  readonly isKept: (event: Event) => boolean;
  /** An event of a channel was dropped, and maybe others after it: what is missing of that channel has to be looked for. */
  readonly miss: (event: Event) => void;
}

/** Events that are held at a time, and channels of which some were dropped. */
const MAX_HELD = 10_000;

/**
 * Holds events back from the loss of a connection until it is known what was missed: what is replayed comes before the
 * gateway says whether that is all.
 */
export class ReplayBuffer<Event> {
  readonly #parts: ReplayBufferParts<Event>;
  #isHeld = true;
  #held: Event[] = [];
  #isOver = false;
  /** One event of each channel of which some were dropped. */
  #dropped = new BoundedMap<Event>(MAX_HELD);

  constructor(parts: ReplayBufferParts<Event>) {
    this.#parts = parts;
  }

  /** Takes it now, or when it is released. Too many of them are dropped, nearly all: then their channels are missing something. */
  pass(event: Event): void {
    if (!this.#isHeld) return this.#parts.take(event);
    if (this.#isOver) return this.#keep(event);
    this.#held.push(event);
    if (this.#held.length <= MAX_HELD) return;
    this.#isOver = true;
    const held = this.#held;
    this.#held = [];
    for (const one of held) this.#keep(one);
  }

  /** Holds events back from now on. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Takes the events that were held, and later ones at once. */
  release(): void {
    const held = this.#held;
    const dropped = this.#dropped;
    this.#isHeld = false;
    this.#isOver = false;
    this.#held = [];
    this.#dropped = new BoundedMap(MAX_HELD);
    for (const [, event] of dropped.entries()) this.#parts.miss(event);
    for (const event of held) this.#parts.take(event);
  }

  #keep(event: Event): void {
    if (this.#held.length < MAX_HELD && this.#parts.isKept(event)) {
      this.#held.push(event);
      return;
    }
    const channel = this.#parts.channelOf(event);
    if (channel !== null) this.#dropped.set(channel, event);
  }
}
