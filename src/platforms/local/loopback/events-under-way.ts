import {
  type EventRequest,
  lengthOf,
  type LoopbackEvent,
  MAX_PAGE_EVENTS,
  type Position,
} from "./protocol.ts";

/** Most events under way, and from how many characters on no more are fetched. */
const MAX_EVENTS = 2000;
const MAX_LENGTH = 8 * 1024 * 1024;
/** Size of a group of events that is acknowledged while later ones of the channel are under way. */
const GROUP = 50;

interface Progress {
  /** Numbers of events. */
  taken: number;
  durable: number;
  /** How many events are under way, durable and not acknowledged, and in the acknowledgement that was sent. */
  underWay: number;
  unacknowledged: number;
  sent: number;
}

/** Which events of one service were taken, which of them are durable, and which of those are acknowledged. */
export class EventsUnderWay {
  readonly server: string;
  readonly #channels = new Map<string, Progress>();
  #count = 0;
  #length = 0;
  #room = Promise.withResolvers<void>();

  constructor(server: string) {
    this.server = server;
  }

  take(event: LoopbackEvent): void {
    const progress = this.#channels.get(event.channel) ?? {
      taken: 0,
      durable: 0,
      underWay: 0,
      unacknowledged: 0,
      sent: 0,
    };
    this.#channels.set(event.channel, progress);
    progress.taken = event.number;
    progress.underWay += 1;
    this.#count += 1;
    this.#length += lengthOf(event);
  }

  /** Those of a channel end in order. */
  end(event: LoopbackEvent, isDurable: boolean): void {
    this.#count -= 1;
    this.#length -= lengthOf(event);
    const progress = this.#channels.get(event.channel);
    if (progress !== undefined) {
      progress.underWay -= 1;
      if (isDurable) {
        progress.durable = event.number;
        progress.unacknowledged += 1;
      }
    }
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }

  /** Resolves when there is room for an event, or the signal says so. */
  async untilRoom(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (this.#count >= MAX_EVENTS || this.#length >= MAX_LENGTH))
      await this.#room.promise;
  }

  request(): Omit<EventRequest, "waitMs"> {
    const underWay = [...this.#channels].map(([channel, { taken }]) => ({ channel, number: taken }));
    const room = Math.min(MAX_PAGE_EVENTS, Math.max(1, MAX_EVENTS - this.#count));
    return { server: this.server, underWay, room };
  }

  get isAcknowledgementDue(): boolean {
    return this.#channels
      .values()
      .some(
        ({ underWay, unacknowledged }) => unacknowledged > 0 && (underWay === 0 || unacknowledged >= GROUP),
      );
  }

  /** The last durable event of each channel for which the service has no acknowledgement. */
  unacknowledged(): Position[] {
    const news = [...this.#channels].filter(([, { unacknowledged }]) => unacknowledged > 0);
    return news.map(([channel, progress]) => {
      progress.sent = progress.unacknowledged;
      return { channel, number: progress.durable };
    });
  }

  /** The service received these positions, the last result of {@link unacknowledged}. */
  acknowledged(positions: readonly Position[]): void {
    for (const { channel, number } of positions) {
      const progress = this.#channels.get(channel);
      if (progress === undefined) continue;
      progress.unacknowledged -= progress.sent;
      if (progress.taken === number) this.#channels.delete(channel);
    }
  }
}
