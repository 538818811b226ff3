import type { ServerResponse } from "node:http";
import { HTTPException } from "hono/http-exception";
import PQueue from "p-queue";
import type { Logger } from "pino";
import type { ChannelReports, ReportedDaemon } from "../../channels.ts";
import type { ReadingRights } from "../reading-rights.ts";
import type { Sessions } from "../sessions.ts";
import { ChannelWatch, type WatchParts } from "./channel-watch.ts";
import { EventStream } from "./event-stream.ts";
import { parsePosition } from "./position.ts";

/** Most open streams: of one session, and of all. */
const MOST = { session: 8, all: 64 } as const;
/** Default time between two signs of life of a stream, ms: idle connections are ended after ten seconds. */
const BEAT_MS = 5000;
/** Beats between two checks whether its session has ended. */
const CHECK_BEATS = 5;

export interface LiveStreamsParts extends Pick<WatchParts, "mask" | "maskSoFar"> {
  readonly reports: Pick<ChannelReports, "daemon">;
  readonly sessions: Pick<Sessions, "lasts">;
  readonly log: Logger;
  /** ms; default: 5 s */
  readonly beatMs?: number | undefined;
}

export interface WantedStream {
  readonly channel: string;
  readonly rights: ReadingRights;
  /** As the browser says it; anything else begins with what is new. */
  readonly from: string;
  readonly secret: string;
  readonly outgoing: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
}

interface Slot {
  readonly secret: string;
  stream: EventStream | null;
  isEnded: boolean;
}

/** The open streams of the page. Without one it listens to nothing, and asks nothing. */
export class LiveStreams {
  readonly #parts: LiveStreamsParts;
  readonly #slots = new Set<Slot>();
  /** By channel and role: roles read different texts. */
  readonly #watches = new Map<string, ChannelWatch>();
  readonly #reads = new PQueue({ concurrency: 1 });
  #stop: (() => void) | null = null;

  constructor(parts: LiveStreamsParts) {
    this.#parts = parts;
  }

  /**
   * Answers with a stream of a channel, if the session has not ended meanwhile.
   * @throws HTTPException if there is no such channel, the role reads none of its texts, or too many streams are open
   */
  async open(wanted: WantedStream): Promise<void> {
    const { secret, rights } = wanted;
    const slot = this.#take(secret);
    try {
      const { daemon } = this.#parts.reports;
      const channel = await rights.findReadable(daemon, wanted.channel);
      // It may have ended before this stream was counted.
      if (!this.#parts.sessions.lasts(secret) || slot.isEnded)
        throw new HTTPException(401, { message: "The session has ended: sign in again." });
      const stream = new EventStream(wanted.outgoing, wanted.headers);
      slot.stream = stream;
      this.#listen(daemon);
      const key = `${channel.id} ${rights.role}`;
      const watch = this.#watches.get(key) ?? new ChannelWatch(this.#watchParts(daemon, rights), channel);
      this.#watches.set(key, watch);
      const remove = watch.add(stream, parsePosition(wanted.from));
      stream.onClosed(() => {
        remove();
        this.#slots.delete(slot);
        if (!watch.isWatched && this.#watches.get(key) === watch) {
          this.#watches.delete(key);
          void watch[Symbol.asyncDispose]();
        }
        if (this.#watches.size === 0) this.#stop?.();
      });
    } catch (error) {
      this.#slots.delete(slot);
      throw error;
    }
  }

  /** @param name of a channel, `platform:name` */
  isWatched(name: string): boolean {
    return [...this.#watches.values()].some((watch) => watch.name === name);
  }

  /** Closes the streams of a session. */
  end(secret: string): void {
    for (const slot of this.#slots) {
      if (slot.secret !== secret) continue;
      slot.isEnded = true;
      slot.stream?.close();
    }
  }

  /** @throws HTTPException if too many are open */
  #take(secret: string): Slot {
    const ofSession = [...this.#slots].filter((slot) => slot.secret === secret).length;
    if (ofSession >= MOST.session || this.#slots.size >= MOST.all)
      throw new HTTPException(429, { message: "Too many live pages are open: close one." });
    const slot: Slot = { secret, stream: null, isEnded: false };
    this.#slots.add(slot);
    return slot;
  }

  #watchParts(daemon: ReportedDaemon, rights: ReadingRights): WatchParts {
    const { mask, maskSoFar, log } = this.#parts;
    return { daemon, rights, mask, maskSoFar, log, inTurn: async (work) => this.#reads.add(work) };
  }

  #listen({ events }: Pick<ReportedDaemon, "events">): void {
    if (this.#stop !== null) return;
    const ends = [
      events.on((event) => {
        for (const watch of this.#watches.values()) watch.hear(event);
      }),
      events.onLive((news) => {
        for (const watch of this.#watches.values()) watch.hearLive(news);
      }),
    ];
    let beats = 0;
    const timer = setInterval(() => {
      for (const { stream } of this.#slots) stream?.beat();
      if (++beats % CHECK_BEATS === 0) this.#check();
    }, this.#parts.beatMs ?? BEAT_MS).unref();
    this.#stop = () => {
      for (const end of ends) end();
      clearInterval(timer);
      this.#stop = null;
    };
  }

  /** Closes the streams of sessions that have ended by themselves. */
  #check(): void {
    for (const secret of new Set([...this.#slots].map((slot) => slot.secret)))
      if (!this.#parts.sessions.lasts(secret)) this.end(secret);
  }
}
