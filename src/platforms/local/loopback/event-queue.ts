import {
  type DurablePost,
  type EventPage,
  type EventRequest,
  lengthOf,
  type LoopbackEvent,
  MAX_PAGE_EVENTS,
  type Position,
} from "./protocol.ts";
import { Waiters } from "./waiters.ts";

/** Most characters of one page, but for its last event. */
const MAX_PAGE_LENGTH = 8 * 1024 * 1024;
/** Most events of a channel that are delivered and not acknowledged, and their characters, but for the last one. */
const CHANNEL_EVENTS = 100;
const CHANNEL_LENGTH = 1024 * 1024;

export type EventBody = LoopbackEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, "number" | "at">
    : never
  : never;

/** One channel's events; those before the index `acknowledged` are durable at the client. */
interface Lane {
  readonly events: LoopbackEvent[];
  acknowledged: number;
}

/** The events of a lane that may go into a page. */
interface Share {
  readonly lane: Lane;
  readonly underWay: number;
  /** Index of the next event to deliver. */
  at: number;
  /** How many events it may still have under way, and their characters. */
  room: number;
  length: number;
}

/**
 * The events of the loopback service, in memory. At most a fixed share of a channel's events is under way, so that a channel
 * whose events the client stores slowly holds up no other. If a page has no room for all, the channels with the fewest events
 * under way come first, each with one event in turn.
 */
export class EventQueue {
  readonly server: string;
  readonly #isDone: (event: LoopbackEvent) => boolean;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes with events that are not acknowledged. */
  readonly #open = new Map<string, Lane>();
  readonly #changed = new Waiters();
  #size = 0;

  /** @param isDone events that need not be delivered any more */
  constructor(server: string, isDone: (event: LoopbackEvent) => boolean = () => false) {
    this.server = server;
    this.#isDone = isDone;
  }

  get size(): number {
    return this.#size;
  }

  /** True: a client waits for an event. */
  get isAwaited(): boolean {
    return this.#changed.size > 0;
  }

  /** @returns the event's number */
  emit(body: EventBody, at: string): Position {
    const { channel } = body;
    this.#size += 1;
    const lane = this.#lanes.get(channel) ?? { events: [], acknowledged: 0 };
    this.#lanes.set(channel, lane);
    this.#open.set(channel, lane);
    lane.events.push({ ...body, at, number: this.#size });
    this.#changed.wake();
    return { channel, number: this.#size };
  }

  acknowledge({ server, channels }: DurablePost): void {
    if (server !== this.server) return;
    for (const { channel, number } of channels) {
      const lane = this.#lanes.get(channel);
      if (lane === undefined) continue;
      lane.acknowledged = Math.max(lane.acknowledged, indexAfter(lane, number));
      if (lane.acknowledged === lane.events.length) this.#open.delete(channel);
    }
    // A channel may have room for more.
    this.#changed.wake();
  }

  isAcknowledged({ channel, number }: Position): boolean {
    const lane = this.#lanes.get(channel);
    return lane !== undefined && indexAfter(lane, number) <= lane.acknowledged;
  }

  /** Resolves with the next events; with none after `waitMs`, or when the signal says so. */
  async take(request: EventRequest, signal: AbortSignal): Promise<EventPage> {
    const until = performance.now() + request.waitMs;
    for (;;) {
      const events = this.#page(request);
      const left = until - performance.now();
      if (events.length > 0 || left <= 0 || signal.aborted) return { server: this.server, events };
      await this.#changed.wait(left, signal);
    }
  }

  #page({ server, underWay, room }: EventRequest): LoopbackEvent[] {
    const taken = new Map(
      server === this.server ? underWay.map(({ channel, number }) => [channel, number]) : [],
    );
    let shares = [...this.#open]
      .map(([channel, lane]) => shareOf(lane, taken.get(channel) ?? 0))
      .toSorted((one, other) => one.underWay - other.underWay);
    const events: LoopbackEvent[] = [];
    let length = 0;
    const limit = Math.min(room, MAX_PAGE_EVENTS);
    while (shares.length > 0) {
      const rest: Share[] = [];
      for (const share of shares) {
        const event = this.#next(share);
        if (event === null) continue;
        if (events.length >= limit || length > MAX_PAGE_LENGTH) return inOrder(events);
        events.push(event);
        length += lengthOf(event);
        rest.push(share);
      }
      shares = rest;
    }
    return inOrder(events);
  }

  /** The next event of a share; null: there is none, or no room for it. */
  #next(share: Share): LoopbackEvent | null {
    if (share.room <= 0 || share.length <= 0) return null;
    for (;;) {
      const event = share.lane.events[share.at];
      if (event === undefined) return null;
      share.at += 1;
      if (this.#isDone(event)) continue;
      share.room -= 1;
      share.length -= lengthOf(event);
      return event;
    }
  }
}

/** A channel with more than half of its share under way gets no more: events are delivered in groups, not one by one. */
function shareOf(lane: Lane, taken: number): Share {
  const at = Math.max(lane.acknowledged, indexAfter(lane, taken));
  const events = lane.events.slice(lane.acknowledged, at);
  const length = events.reduce((sum, event) => sum + lengthOf(event), 0);
  const isBusy = events.length > CHANNEL_EVENTS / 2 || length > CHANNEL_LENGTH / 2;
  return {
    lane,
    underWay: events.length,
    at,
    room: isBusy ? 0 : CHANNEL_EVENTS - events.length,
    length: isBusy ? 0 : CHANNEL_LENGTH - length,
  };
}

function indexAfter({ events }: Lane, number: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.number ?? 0) <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}

function inOrder(events: LoopbackEvent[]): LoopbackEvent[] {
  return events.toSorted((one, other) => one.number - other.number);
}
