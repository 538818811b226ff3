import { KeyedCount } from "../../async/keyed-count.ts";
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
import { askingIfNew } from "./asking-edits.ts";
import type { CatchUpLedger, Gap, PlatformInbox } from "../platform.ts";
import { PendingChanges } from "./pending-changes.ts";
import { ChannelBackfill, isRoot } from "./channel-backfill.ts";
import { Gaps } from "./gaps.ts";
import { ListeningWatermark } from "./listening-watermark.ts";
import type { ChatHistory } from "./history.ts";
import { MissedEvents } from "./missed-events.ts";
import { mayPass, PlatformRetry } from "../shared/platform-retry.ts";
import { type FindActiveChannels, ChannelDiscovery } from "./channel-discovery.ts";

export interface IntakeParts {
  readonly platform: string;
  /** The platform's id of Weir's bot account. Throws PlatformError. */
  readonly account: () => Promise<string>;
  readonly inbox: PlatformInbox;
  readonly ledger: CatchUpLedger;
  readonly history: ChatHistory;
  readonly log: Logger;
  readonly catchUpMaxAgeMs: number;
  readonly now: () => Date;
  /** Longest wait of a channel's events for the fetch of earlier missed messages. Default: 10 s. */
  readonly holdMs?: number | undefined;
  /** First and longest delay before a failed fetch is retried. Default: 500 ms and 60 s. */
  readonly backOff?: Backoff | undefined;
  /** How often the listening watermark is moved. Default: a minute. */
  readonly watermarkEveryMs?: number;
}

/** An event in its channel, even if the event names none. */
export interface Heard {
  readonly event: InboundEvent;
  readonly home: ChannelOnPlatform;
}

/** What a platform has delivered, still to be read. */
export interface Arrival {
  /** Arrivals of one lane keep their order. Its events may be of several channels. */
  readonly lane: string;
  /** Called once the lane's earlier arrivals are read. @returns the events; none: it leaves no trace */
  readonly read: () => Promise<readonly Heard[]>;
  /** More changes than messages may wait: they are small, and some cannot be fetched later. */
  readonly kind: "message" | "change";
  /** The channel whose missed messages are fetched if this is left out. See {@link Intake.miss}. */
  readonly name: string;
  readonly where: FindActiveChannels;
  /** The missed messages are fetched as well if the reading fails temporarily. */
  readonly isFetchedIfUnread: boolean;
}

/** The pending result of taking an event; undefined: the event was not stored. */
interface Taking {
  readonly receipt: Promise<Receipt | undefined>;
}

const NOT_TAKEN: Taking = { receipt: Promise.resolve(undefined) };

const HOLD_MS = 10_000;
/** Maximum remembered threads fetched separately from their parent. */
const MAX_FETCHED_SEPARATELY = 10_000;
/** Maximum waiting messages, half of them of one channel. Further messages are fetched later, as after an interruption. */
const MAX_WAITING = 10_000;
/** Maximum waiting events of all kinds. */
const MAX_WAITING_CHANGES = 20_000;

/**
 * Passes a platform's events to the inbox: per channel in the platform's order, after the messages missed
 * while the bot was offline. If storing an event fails temporarily, the event is not lost: a message leaves a
 * gap and is fetched again; a change is retried until stored.
 *
 * An event is read in its lane and then stored in its channel, and both keep the order. Reading goes on while
 * earlier events wait to be stored.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #lanes = new KeyedQueue();
  readonly #channels = new KeyedQueue();
  /** How many arrivals of each lane are being read or stored. */
  readonly #waiting = new KeyedCount();
  /** Events that wait to be stored, by channel and by the connection on which they were heard. */
  readonly #unstored = new KeyedCount();
  /** Those of them that were stored on a later connection, until the last one is. */
  readonly #heardBefore = new Set<string>();
  readonly #platformRetry: PlatformRetry;
  readonly #gaps: Gaps;
  readonly #discovery: ChannelDiscovery;
  readonly #missedEvents: MissedEvents;
  readonly #watermark: ListeningWatermark;
  readonly #pendingChanges: PendingChanges;
  readonly #backfill: ChannelBackfill;
  readonly #closing = new AbortController();
  /** Threads fetched separately, each with its parent's gap at that time. */
  readonly #fetchedSeparately = new BoundedMap<Gap>(MAX_FETCHED_SEPARATELY);
  /** Resolves when the gaps of this connection are known; false: the intake was closed before. */
  #resuming: Promise<boolean> = Promise.resolve(true);
  #isResuming = false;
  /** Which gaps the running search is for. */
  #sought: "all" | "recorded" = "all";
  #isConnected = false;
  /** How often a connection began that replays nothing: changes between it and the one before are not heard. */
  #freshConnections = 0;
  /** Since when this connection hears everything; null: the platform replays what came before it. */
  #heardFrom: Date | null = null;
  #isOverflowing = false;

  constructor(parts: IntakeParts) {
    const { inbox, history, platform, holdMs = HOLD_MS, catchUpMaxAgeMs: maxAgeMs, watermarkEveryMs } = parts;
    const { signal } = this.#closing;
    const platformRetry = new PlatformRetry({ ...parts, signal });
    this.#parts = parts;
    this.#pendingChanges = new PendingChanges(inbox);
    const receive = async (event: InboundMessage): Promise<void> => this.#receiveOrLeave(event, event);
    this.#backfill = new ChannelBackfill({ ...parts, receive });
    this.#platformRetry = platformRetry;
    this.#gaps = new Gaps({
      ...parts,
      platformRetry,
      holdMs,
      signal,
      receive: async (gap, event) => this.#fetched(gap, event),
      onFilled: (name) => this.#discovery.filled(name),
    });
    const open = (gap: Gap): void => this.#gaps.open(gap);
    this.#discovery = new ChannelDiscovery({ ...parts, history, platformRetry, maxAgeMs, holdMs, open });
    const openKnown = (gap: Gap): void => open(this.#discovery.sinceWatermark(gap));
    this.#missedEvents = new MissedEvents({
      ...parts,
      platformRetry,
      discovery: this.#discovery,
      open: openKnown,
    });
    this.#watermark = new ListeningWatermark({
      now: parts.now,
      settled: async () => this.#settled(),
      isComplete: () => this.#isConnected && this.isComplete,
      write: async (at) => this.#moveWatermark(platform, at),
      everyMs: watermarkEveryMs,
    });
  }

  /**
   * Starts the fetch of missed messages. Call after connecting, before the first event. Returns at once;
   * later events wait for the fetch.
   * @param sought `recorded`: the platform replays everything that came since the log's last event, so only what was missing before that
   *   is fetched. Default: all
   */
  resume(sought: "all" | "recorded" = "all"): void {
    this.#isConnected = true;
    if (sought === "all") this.#freshConnections++;
    this.#heardFrom = sought === "all" ? beginOfSecond(this.#parts.now()) : null;
    this.#findGaps(sought);
    this.#watermark.start();
  }

  /** The connection is lost. */
  interrupt(): void {
    this.#isConnected = false;
  }

  /**
   * Fetches missed messages of channels that may be unknown to the log, and makes their events wait. Call
   * after `resume` if the platform does not replay missed events.
   */
  search(find: FindActiveChannels): void {
    this.#discovery.search(find, this.#resuming);
  }

  /**
   * Notes that an event could not be stored: the missing messages of its channel are fetched later, as after
   * an interruption.
   * @param name the channel's name
   * @param where finds that channel; no result: Weir ignores the channel
   */
  miss(name: string, where: FindActiveChannels): void {
    this.#missedEvents.miss(name, where, this.#resuming);
  }

  /** Notes an event that is left out because too many wait, and says so once. See {@link miss}. */
  leave(name: string, where: FindActiveChannels): void {
    const { platform, log } = this.#parts;
    if (!this.#isOverflowing) log.error({ platform, channel: name }, "events_overflow");
    this.#isOverflowing = true;
    this.miss(name, where);
  }

  /**
   * Reads what has arrived, and stores its events after the earlier ones of their channels.
   * @returns the receipts, once the events are durable; undefined if one must be fetched later
   * @throws what `read` throws
   */
  async hand(arrival: Arrival): Promise<readonly Receipt[] | undefined> {
    const { lane, kind, name, where } = arrival;
    if (this.#waiting.isFull(lane, kind === "message" ? MAX_WAITING : MAX_WAITING_CHANGES)) {
      this.leave(name, where);
      return undefined;
    }
    this.#waiting.add(lane);
    try {
      const heardOn = this.#freshConnections;
      const { storing } = await this.#lanes.add(lane, async () => this.#read(arrival, heardOn));
      const receipts = await Promise.all(storing);
      return receipts.every((receipt) => receipt !== undefined) ? receipts : undefined;
    } finally {
      this.#waiting.remove(lane);
      if (this.#waiting.size === 0) this.#isOverflowing = false;
    }
  }

  /**
   * Retries work on an event that the platform delivers only once, until the intake is closed.
   * @returns undefined: the intake was closed
   * @throws what `isOver` says; default: what is refused for good
   */
  async untilDone<Result>(
    event: string,
    work: () => Promise<Result>,
    isOver?: (error: unknown, failures: number) => boolean,
  ): Promise<Result | undefined> {
    return this.#platformRetry.untilDone(event, work, isOver);
  }

  /** True: of all events that are no longer waiting here, none is missing without being recorded as missing. */
  get isComplete(): boolean {
    if (this.#closing.signal.aborted || this.#isResuming) return false;
    return this.#missedEvents.isDone && this.#discovery.isDone && this.#gaps.isDone;
  }

  /** Resolves when every event handed in is stored, and nothing is being fetched. */
  async idle(): Promise<void> {
    await this.#resuming;
    await this.#gaps.idle();
    await this.#settled();
  }

  /** Ends all waiting. */
  close(): void {
    this.#watermark.stop();
    this.#closing.abort();
    this.#gaps.close();
  }

  async #settled(): Promise<void> {
    await this.#lanes.settled();
    await this.#channels.settled();
  }

  /** The lane continues without waiting for the storing. */
  async #read(
    arrival: Arrival,
    heardOn: number,
  ): Promise<{ readonly storing: readonly Promise<Receipt | undefined>[] }> {
    const { read, name, where, isFetchedIfUnread } = arrival;
    try {
      const heard = await read();
      return { storing: heard.map(async (one) => this.#store(one, heardOn)) };
    } catch (error) {
      // Before a later event is stored, after which this one would never be fetched. A fetch would meet an
      // unknown failure again, and never end.
      if (isFetchedIfUnread && mayPass(error)) this.miss(name, where);
      throw error;
    }
  }

  /** @param heardOn how many fresh connections there had been */
  async #store({ event, home }: Heard, heardOn: number): Promise<Receipt | undefined> {
    const { now, catchUpMaxAgeMs: maxAgeMs } = this.#parts;
    const { name } = home.channel;
    const asked = event.type === "edit" ? askingIfNew(event, now().getTime() - maxAgeMs) : event;
    const heard = this.#heardFrom !== null && asked.at < this.#heardFrom ? asLate(asked) : asked;
    const stretch = `${heardOn} ${name}`;
    this.#unstored.add(stretch);
    const { receipt } = await this.#channels.add(name, async () => {
      const taking = await this.#take(heard, home);
      this.#unstored.remove(stretch);
      if (heardOn === this.#freshConnections) return taking;
      // Deletions and edits of what was heard before this connection may be missing: another look at the channel finds them.
      if (taking !== NOT_TAKEN && !this.#leavesNoTrace(event, home)) this.#heardBefore.add(stretch);
      if (!this.#unstored.has(stretch) && this.#heardBefore.delete(stretch))
        this.miss(name, async () => [home]);
      return taking;
    });
    return receipt;
  }

  /** Resolves when the channel's next event may be taken. Must not throw. */
  async #take(event: InboundEvent, home: ChannelOnPlatform): Promise<Taking> {
    if (this.#closing.signal.aborted) return NOT_TAKEN;
    try {
      // An event that leaves no trace in the log must not record a channel or a gap either.
      if (this.#leavesNoTrace(event, home)) return taken(await this.#pendingChanges.receive(event));
      // Messages missed before a stored event would never be fetched.
      if (!(await this.#resuming)) return NOT_TAKEN;
      const undiscovered = await this.#discovery.waitForSearch(home);
      await this.#missedEvents.openGapOf(home);
      this.#openThread(home, undiscovered);
      const gap = (await this.#gaps.waitFor(home.channel.name)) ?? undiscovered;
      if (event.type === "message") await this.#backfill.fillBefore(event, gap, gap === null);
      return taken(await this.#pendingChanges.receive(event));
    } catch (error) {
      const isLater = event.type !== "message" || !(error instanceof UnstorableError);
      this.#warn(isLater ? "event_not_stored_yet" : "event_refused", event, home, error);
      // Later events do not depend on a change, so the change is retried beside its channel.
      if (event.type !== "message") return { receipt: this.#takeLater(event, home) };
      if (isLater) this.miss(home.channel.name, async () => Promise.resolve([home]));
      return NOT_TAKEN;
    }
  }

  /** Retries a change: it may be delivered only once, and its message may be too old for a catch-up. Must not throw. */
  async #takeLater(change: InboundChange, home: ChannelOnPlatform): Promise<Receipt | undefined> {
    try {
      const store = async (): Promise<Receipt> => this.#pendingChanges.receive(change);
      const isOver = (error: unknown): boolean => error instanceof UnstorableError;
      return await this.#platformRetry.untilDone("change_not_stored_yet", store, isOver);
    } catch (error) {
      this.#warn("event_refused", change, home, error);
      return undefined;
    }
  }

  #warn(what: string, { id }: InboundEvent, { channel }: ChannelOnPlatform, error: unknown): void {
    this.#parts.log.warn({ channel: formatAddress(channel), id, why: errorMessage(error) }, what);
  }

  /** True: the event records neither a channel nor a gap. A change in a direct message only alters, or waits for, its message. */
  #leavesNoTrace(event: InboundEvent, { kind }: ChannelOnPlatform): boolean {
    return event.type === "message" ? this.#parts.ledger.refuses(event) : kind === "dm";
  }

  /**
   * Opens a thread's gap if a message arrives in the thread during its parent's catch-up, which also fetches
   * the thread's missed messages. Otherwise these would become the thread's background, or follow the new
   * message.
   * @param undiscovered the thread's recorded gap, not being filled yet; null: none
   */
  #openThread({ channel, kind, workspace, place }: ChannelOnPlatform, undiscovered: Gap | null): void {
    const { history } = this.#parts;
    const { name } = channel;
    const parent = history.parentOf?.(channel) ?? null;
    if (parent === null || this.#gaps.of(name) !== null) return;
    const gap = this.#gaps.of(parent.name);
    // Once per gap of the parent, which may stay open for hours.
    if (gap === null || this.#fetchedSeparately.get(name) === gap) return;
    this.#fetchedSeparately.set(name, gap);
    const isEarlier = undiscovered !== null && history.compare(undiscovered.afterId, gap.afterId) < 0;
    const { afterId } = isEarlier ? undiscovered : gap;
    this.#gaps.open({ channel, kind, workspace, ...(place !== undefined && { place }), afterId });
  }

  /** Finds the gaps of a new connection. Nothing is stored until they are known. */
  #findGaps(sought: "all" | "recorded"): void {
    if (this.#isResuming) {
      if (sought === "all") this.#sought = sought;
      return;
    }
    this.#isResuming = true;
    this.#sought = sought;
    const finding = this.#platformRetry.until("gaps_not_found", Number.POSITIVE_INFINITY, async () => {
      let found: "all" | "recorded";
      do {
        found = this.#sought;
        await this.#openGaps(found);
      } while (found !== this.#sought);
    });
    this.#resuming = finding.finally(() => (this.#isResuming = false));
  }

  async #openGaps(sought: "all" | "recorded"): Promise<void> {
    const { ledger, platform } = this.#parts;
    const gaps = await ledger.openGaps(platform, sought);
    await this.#discovery.begin(gaps);
    for (const gap of gaps) {
      this.#backfill.markKnown(gap.channel.name);
      this.#gaps.open(this.#discovery.sinceWatermark(gap));
    }
  }

  /**
   * Stores a fetched event; a reply may start its thread. To keep the order, leaves replies to their thread's
   * gap if open, and a thread's root to its parent.
   */
  async #fetched(gap: Gap, event: InboundEvent): Promise<void> {
    const { channel } = gap;
    if (event.type === "message") {
      const { name } = event.channel;
      if (name !== channel.name && isRoot(channel, event.id)) return;
      const own = name !== channel.name && this.#gaps.has(name) ? this.#gaps.of(name) : null;
      // The parent's gap may close first.
      if (own !== null) return this.#parts.ledger.keepGap(own);
      await this.#backfill.fillBefore(event, name === channel.name ? gap : null, false);
    }
    await this.#receiveOrLeave(event, gap);
  }

  /** Skips an event that can never be stored: it blocks no others. Otherwise throws as the inbox does. */
  async #receiveOrLeave(event: InboundEvent, where: ChannelOnPlatform): Promise<void> {
    try {
      await this.#pendingChanges.receive(asLate(event));
    } catch (error) {
      if (!(error instanceof UnstorableError)) throw error;
      this.#warn("event_refused", event, where, error);
    }
  }

  /** Must not throw: the watermark is moved again soon. */
  async #moveWatermark(platform: string, at: Date): Promise<void> {
    const { ledger, account, log } = this.#parts;
    try {
      await ledger.moveWatermark(platform, await account(), at);
    } catch (error) {
      log.debug({ platform, why: errorMessage(error) }, "mark_not_moved");
    }
  }
}

/** Platforms may tell times in whole seconds. */
function beginOfSecond(at: Date): Date {
  return new Date(at.getTime() - at.getUTCMilliseconds());
}

/** Nobody knows who could read the channel when it was said: a change of that may have been missed as well. */
function asLate(event: InboundEvent): InboundEvent {
  if (event.type === "message") return { ...event, isLate: true };
  if (event.type !== "edit") return event;
  const { said } = event;
  return { ...event, isLate: true, ...(said !== undefined && { said: { ...said, isLate: true } }) };
}

function taken(receipt: Receipt): Taking {
  return { receipt: Promise.resolve(receipt) };
}
