import { BoundedMap } from "../../../async/bounded-map.ts";

interface ReplayBufferParts<Event> {
  readonly take: (event: Event) => void;
  readonly channelOf: (event: Event) => string | null;
  /** True: no search finds this event again, so it is held if others are dropped. */
  readonly isKept: (event: Event) => boolean;
  /** An event of a channel, and maybe later ones, were dropped: the channel's events must be fetched. */
  readonly miss: (event: Event) => void;
  /** Called for each dropped event, before `miss`. Default: no listener. */
  readonly dropped?: (event: Event) => void;
}

/** Maximum held events, and maximum channels with dropped events. */
const MAX_HELD = 10_000;

/**
 * Holds events back from a connection's loss until READY or RESUMED: replayed events arrive before the gateway reports
 * whether the replay is complete.
 */
export class ReplayBuffer<Event> {
  readonly #parts: ReplayBufferParts<Event>;
  #isHeld = true;
  #held: Event[] = [];
  #isOver = false;
  /** One dropped event of each affected channel. */
  #dropped = new BoundedMap<Event>(MAX_HELD);

  constructor(parts: ReplayBufferParts<Event>) {
    this.#parts = parts;
  }

  /** Takes an event now or on release. On overflow, drops all but `isKept` events; see `miss`. */
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

  get isHeld(): boolean {
    return this.#isHeld;
  }

  hold(): void {
    this.#isHeld = true;
  }

  /** Takes the held events, and later events at once. */
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
    this.#parts.dropped?.(event);
    const channel = this.#parts.channelOf(event);
    if (channel !== null) this.#dropped.set(channel, event);
  }
}
