import { KeyedQueue } from "../../async/keyed-queue.ts";
import type { Backoff } from "../../async/backoff.ts";
import type { Logger } from "pino";
import { BoundedMap } from "../../async/bounded-map.ts";
import { errorMessage, UnstorableError } from "../../core/errors.ts";
import { formatAddress } from "../../core/ids.ts";
import type {
  ChannelOnPlatform,
  InboundChange,
  InboundEvent,
  InboundMessage,
  Receipt,
} from "../../core/message.ts";
import type { CatchUpLedger, Gap, PlatformInbox } from "../platform.ts";
import { PendingChanges } from "./pending-changes.ts";
import { ChannelBackfill, isRoot } from "./channel-backfill.ts";
import { Gaps } from "./gaps.ts";
import { ListeningWatermark } from "./listening-watermark.ts";
import type { ChatHistory } from "./history.ts";
import { MissedEvents } from "./missed-events.ts";
import { Patience } from "../shared/patience.ts";
import { type FindActiveChannels, ChannelDiscovery } from "./channel-discovery.ts";

export interface IntakeParts {
  readonly platform: string;
  /** The platform's id of the bot as whom Weir listens. Throws PlatformError. */
  readonly account: () => Promise<string>;
  readonly inbox: PlatformInbox;
  readonly ledger: CatchUpLedger;
  readonly history: ChatHistory;
  readonly log: Logger;
  readonly catchUpMaxAgeMs: number;
  readonly now: () => Date;
  /** How long later events of a channel wait for what was missed before them. Default: 10 s. */
  readonly holdMs?: number;
  /** First and longest wait before what was missed is asked for again. Default: 500 ms and 60 s. */
  readonly backOff?: Backoff;
  /** How often it is noted that everything was heard. Default: a minute. */
  readonly watermarkEveryMs?: number;
}

/** What becomes of an event, which may be known later; undefined: it was not taken. */
interface Taking {
  readonly receipt: Promise<Receipt | undefined>;
}

const NOT_TAKEN: Taking = { receipt: Promise.resolve(undefined) };

const HOLD_MS = 10_000;
/** Threads of which it is remembered that they were fetched by themselves. */
const MAX_FETCHED_SEPARATELY = 10_000;
/** Messages that wait at a time. What comes above it is fetched later, as after an interruption. */
const MAX_WAITING = 10_000;
/** The same of all events: changes are small, and not all of them are found again. */
const MAX_WAITING_CHANGES = 20_000;

/**
 * Hands a platform's events to the inbox: of each channel in the platform's order, and behind what was missed of it
 * while nobody listened. What cannot be stored just now is not lost: a message is a gap, and is fetched again; a change is
 * tried again until it is stored.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #channels = new KeyedQueue();
  readonly #patience: Patience;
  readonly #gaps: Gaps;
  readonly #discovery: ChannelDiscovery;
  readonly #missedEvents: MissedEvents;
  readonly #watermark: ListeningWatermark;
  readonly #pendingChanges: PendingChanges;
  readonly #backfill: ChannelBackfill;
  readonly #closing = new AbortController();
  /** Threads that were fetched by themselves, with the gap of their parent. */
  readonly #fetchedSeparately = new BoundedMap<Gap>(MAX_FETCHED_SEPARATELY);
  /** Resolves when it is known where something may be missing; false: it was closed before. */
  #resuming: Promise<boolean> = Promise.resolve(true);
  #isResuming = false;
  #isConnected = false;
  #waiting = 0;

  constructor(parts: IntakeParts) {
    const { inbox, history, platform, holdMs = HOLD_MS, catchUpMaxAgeMs: maxAgeMs, watermarkEveryMs } = parts;
    const { signal } = this.#closing;
    const patience = new Patience({ ...parts, signal });
    this.#parts = parts;
    this.#pendingChanges = new PendingChanges(inbox);
    const receive = async (event: InboundMessage): Promise<void> => this.#receiveOrLeave(event, event);
    this.#backfill = new ChannelBackfill({ ...parts, receive });
    this.#patience = patience;
    this.#gaps = new Gaps({
      ...parts,
      patience,
      holdMs,
      signal,
      receive: async (gap, event) => this.#fetched(gap, event),
      onFilled: (name) => this.#discovery.filled(name),
    });
    const open = (gap: Gap): void => this.#gaps.open(gap);
    this.#discovery = new ChannelDiscovery({ ...parts, history, patience, maxAgeMs, holdMs, open });
    const openKnown = (gap: Gap): void => open(this.#discovery.sinceWatermark(gap));
    this.#missedEvents = new MissedEvents({
      ...parts,
      patience,
      discovery: this.#discovery,
      open: openKnown,
    });
    this.#watermark = new ListeningWatermark({
      now: parts.now,
      settled: async () => this.#channels.settled(),
      isComplete: () => this.#isConnected && !this.#isResuming && this.#isDone,
      write: async (at) => this.#moveWatermark(platform, at),
      ...(watermarkEveryMs !== undefined && { everyMs: watermarkEveryMs }),
    });
  }

  /**
   * To be called when a connection is there, before its first event is handed in: fetches what was missed. Returns at
   * once; later events wait for it.
   */
  resume(): void {
    this.#isConnected = true;
    this.#findGaps();
    this.#watermark.start();
  }

  /** The connection is lost. */
  interrupt(): void {
    this.#isConnected = false;
  }

  /**
   * To be called after `resume`, where the platform does not tell itself what was said meanwhile: what was said in the
   * channels that are found is fetched, also where Weir has never heard of them. Their events wait for it.
   */
  search(find: FindActiveChannels): void {
    this.#discovery.search(find, this.#resuming);
  }

  /**
   * Something could not be taken in: what is missing of its channel is fetched later, as after an interruption.
   * @param name of the channel in which it was said
   * @param where that channel; none: Weir takes no part in it
   */
  miss(name: string, where: FindActiveChannels): void {
    this.#missedEvents.miss(name, where, this.#resuming);
  }

  /**
   * Takes an event in, behind those of its channel that came before it.
   * @param home the channel that it belongs to, also where the event names none
   * @returns what became of it, once it is durable; undefined where it has to be fetched later
   */
  async hand(event: InboundEvent, home: ChannelOnPlatform): Promise<Receipt | undefined> {
    if (this.#waiting >= (event.type === "message" ? MAX_WAITING : MAX_WAITING_CHANGES)) {
      this.miss(home.channel.name, async () => Promise.resolve([home]));
      return undefined;
    }
    this.#waiting += 1;
    try {
      const { receipt } = await this.#channels.add(home.channel.name, async () => this.#take(event, home));
      return await receipt;
    } finally {
      this.#waiting -= 1;
    }
  }

  /**
   * Tries again what the platform tells only once, for as long as it is open.
   * @returns undefined: it was closed
   * @throws what no waiting mends
   */
  async insist<Result>(event: string, work: () => Promise<Result>): Promise<Result | undefined> {
    return this.#patience.insist(event, work);
  }

  /** Resolves when everything that was handed in is taken, and nothing is being fetched. */
  async idle(): Promise<void> {
    await this.#resuming;
    await this.#gaps.idle();
    await this.#channels.settled();
  }

  /** Ends all waiting. */
  close(): void {
    this.#watermark.stop();
    this.#closing.abort();
    this.#gaps.close();
  }

  /** Resolves when its lane goes on. Must not throw. */
  async #take(event: InboundEvent, home: ChannelOnPlatform): Promise<Taking> {
    if (this.#closing.signal.aborted) return NOT_TAKEN;
    try {
      // What leaves no trace in the log puts nothing on record either: no channel, and no gap of one.
      if (this.#leavesNoTrace(event, home)) return taken(await this.#pendingChanges.receive(event));
      // Behind an event that is stored nobody would look for what was missed before it.
      if (!(await this.#resuming)) return NOT_TAKEN;
      const undiscovered = await this.#discovery.waitForSearch(home);
      await this.#missedEvents.openGapOf(home);
      this.#openThread(home, undiscovered);
      const gap = (await this.#gaps.waitFor(home.channel.name)) ?? undiscovered;
      if (event.type === "message") await this.#backfill.fillBefore(event, gap);
      return taken(await this.#pendingChanges.receive(event));
    } catch (error) {
      const isLater = event.type !== "message" || !(error instanceof UnstorableError);
      this.#warn(isLater ? "event_not_stored_yet" : "event_refused", event, home, error);
      // Nothing behind it in its lane needs it, nor does it need what was missed: it waits for its message.
      if (event.type !== "message") return { receipt: this.#takeLater(event, home) };
      if (isLater) this.miss(home.channel.name, async () => Promise.resolve([home]));
      return NOT_TAKEN;
    }
  }

  /** A change may be told only once, and be of a message that is too old for a catch-up to look at. Must not throw. */
  async #takeLater(change: InboundChange, home: ChannelOnPlatform): Promise<Receipt | undefined> {
    try {
      return await this.#patience.insist("change_not_stored_yet", async () =>
        this.#pendingChanges.receive(change),
      );
    } catch (error) {
      this.#warn("event_refused", change, home, error);
      return undefined;
    }
  }

  #warn(what: string, { id }: InboundEvent, { channel }: ChannelOnPlatform, error: unknown): void {
    this.#parts.log.warn({ channel: formatAddress(channel), id, why: errorMessage(error) }, what);
  }

  /** A change of what somebody said in a direct message changes what is in the log, or waits for its message by itself. */
  #leavesNoTrace(event: InboundEvent, { kind }: ChannelOnPlatform): boolean {
    return event.type === "message" ? this.#parts.ledger.refuses(event) : kind === "dm";
  }

  /**
   * What was missed in a thread comes with its parent's catch-up. A thread in which somebody speaks before that is fetched by
   * itself, or its missed messages would be the background with which it begins, or come behind what is said now.
   * @param undiscovered what may be missing of the thread and nobody looks for yet
   */
  #openThread({ channel, kind, workspace, place }: ChannelOnPlatform, undiscovered: Gap | null): void {
    const { history } = this.#parts;
    const { name } = channel;
    const parent = history.parentOf?.(channel) ?? null;
    if (parent === null || this.#gaps.of(name) !== null) return;
    const gap = this.#gaps.of(parent.name);
    // Once is enough: the parent's may stay open for hours.
    if (gap === null || this.#fetchedSeparately.get(name) === gap) return;
    this.#fetchedSeparately.set(name, gap);
    const isEarlier = undiscovered !== null && history.compare(undiscovered.afterId, gap.afterId) < 0;
    const { afterId } = isEarlier ? undiscovered : gap;
    this.#gaps.open({ channel, kind, workspace, ...(place !== undefined && { place }), afterId });
  }

  /** Without a record of it, nobody would know what the thread is missing once the gap of its parent is closed. */
  async #leaveTo(thread: string): Promise<void> {
    const gap = this.#gaps.of(thread);
    if (gap !== null) await this.#parts.ledger.keepGap(gap);
  }

  /** Until it is known where something is missing, nothing is stored. */
  #findGaps(): void {
    if (this.#isResuming) return;
    this.#isResuming = true;
    const { ledger, platform } = this.#parts;
    const found = this.#patience.until("gaps_not_found", Number.POSITIVE_INFINITY, async () => {
      const gaps = await ledger.openGaps(platform);
      await this.#discovery.begin(gaps);
      for (const gap of gaps) {
        this.#backfill.markKnown(gap.channel.name);
        this.#gaps.open(this.#discovery.sinceWatermark(gap));
      }
    });
    this.#resuming = found.finally(() => (this.#isResuming = false));
  }

  /**
   * A reply that a channel's catch-up finds may begin its thread here; a thread with a gap of its own comes in order there, and
   * a thread's root in order in its parent.
   */
  async #fetched(gap: Gap, event: InboundEvent): Promise<void> {
    const { channel } = gap;
    if (event.type === "message") {
      const { name } = event.channel;
      if (name !== channel.name && isRoot(channel, event.id)) return;
      if (name !== channel.name && this.#gaps.has(name)) return this.#leaveTo(name);
      await this.#backfill.fillBeforeFetched(event, name === channel.name ? gap : null);
    }
    await this.#receiveOrLeave(event, gap);
  }

  /** What can never be stored holds up nothing that was fetched with it. Throws as the inbox does, but for that. */
  async #receiveOrLeave(event: InboundEvent, where: ChannelOnPlatform): Promise<void> {
    try {
      await this.#pendingChanges.receive(event);
    } catch (error) {
      if (!(error instanceof UnstorableError)) throw error;
      this.#warn("event_refused", event, where, error);
    }
  }

  /** Nothing is missing but what is on record. */
  get #isDone(): boolean {
    return this.#missedEvents.isDone && this.#discovery.isDone && this.#gaps.isDone;
  }

  /** Must not throw: the mark is moved on again soon. */
  async #moveWatermark(platform: string, at: Date): Promise<void> {
    const { ledger, account, log } = this.#parts;
    try {
      await ledger.moveWatermark(platform, await account(), at);
    } catch (error) {
      log.debug({ platform, why: errorMessage(error) }, "mark_not_moved");
    }
  }
}

function taken(receipt: Receipt): Taking {
  return { receipt: Promise.resolve(receipt) };
}
