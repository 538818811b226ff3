import type { ChannelOnPlatform } from "../../core/message.ts";
import type { Gap, CatchUpLedger } from "../platform.ts";
import type { ChatHistory } from "./history.ts";
import type { PlatformRetry } from "../shared/platform-retry.ts";

interface ChannelDiscoveryParts {
  readonly platform: string;
  /** The bot as whom Weir listens. Throws PlatformError. */
  readonly account: () => Promise<string>;
  readonly ledger: Pick<CatchUpLedger, "watermark" | "moveWatermark" | "policyOf" | "keepGap">;
  readonly history: Pick<ChatHistory, "idBefore" | "compare">;
  readonly platformRetry: PlatformRetry;
  readonly now: () => Date;
  /** Older messages are not searched for: they get no answer, and a backfill brings recent ones. */
  readonly maxAgeMs: number;
  /** Longest wait of a channel's events for a search, ms. */
  readonly holdMs: number;
  /** Starts filling a channel's gap. Call `filled` when done. */
  readonly open: (gap: Gap) => void;
}

/** Finds channels in which people may have spoken since a time, the newest activity first if that is known. */
export type FindActiveChannels = (since: Date) => Promise<readonly ChannelOnPlatform[]>;

/** Channels whose gaps are kept in memory until they are filled. The gaps of any others are recorded in the database at once. */
const MAX_CHANNELS = 300;

/**
 * Finds channels unknown to the log in which people spoke while the bot was offline. Their gaps begin at the listening watermark,
 * the time up to which the bot has received everything.
 */
export class ChannelDiscovery {
  readonly #parts: ChannelDiscoveryParts;
  /** Null: the bot has never listened before. */
  #watermark: Date | null = null;
  #begunAt: Date;
  /** Channels whose gap the log already knows. */
  #known: ReadonlySet<string> = new Set();
  #found = 0;
  /** Running searches; the first one's monotonic start time; a promise that resolves when all have ended. */
  #searches = 0;
  #searchedFrom = 0;
  #searched: Promise<unknown> = Promise.resolve();
  /** Channels whose events overtook the search, with their recorded gap; null: the gap is filled. */
  readonly #overtaken = new Map<string, Gap | null>();
  /** Channels whose gap is not filled yet. */
  readonly #open = new Set<string>();

  constructor(parts: ChannelDiscoveryParts) {
    this.#parts = parts;
    this.#begunAt = parts.now();
  }

  /** True: no search is running, and every gap that was found is filled or recorded. */
  get isDone(): boolean {
    return this.#searches === 0 && this.#open.size === 0;
  }

  /**
   * Begins a new connection.
   * @param known gaps of channels that the log has messages of
   * @throws PlatformError, and WeirError of the inbox
   */
  async begin(known: readonly Gap[]): Promise<void> {
    const at = this.#parts.now();
    this.#watermark = await this.#readWatermark(at, known);
    this.#begunAt = at;
    this.#known = new Set(known.map(({ channel }) => channel.name));
    this.#found = 0;
  }

  /** Moves a sparse gap's beginning to the watermark: earlier messages were received, even if not stored. */
  sinceWatermark(gap: Gap): Gap {
    const { history } = this.#parts;
    if (gap.isSparse !== true || this.#watermark === null) return gap;
    const watermarkId = history.idBefore(gap.channel, this.#watermark);
    return history.compare(watermarkId, gap.afterId) > 0 ? { ...gap, afterId: watermarkId } : gap;
  }

  /**
   * Finds channels and starts the fetch of their missed messages. Returns at once.
   * @param begun resolves when `begin` is done
   */
  search(find: FindActiveChannels, begun: Promise<unknown>): void {
    if (this.#searches === 0) {
      this.#searchedFrom = performance.now();
      this.#overtaken.clear();
    }
    this.#searches += 1;
    const searching = this.#search(find, begun).finally(() => {
      this.#searches -= 1;
    });
    this.#searched = Promise.all([this.#searched, searching]).then(() => undefined);
  }

  /**
   * Opens the gap of a channel that is known to lack an event.
   * @param where finds the channel; no result: Weir ignores the channel
   * @param mayOpen asked right before the gap is opened
   * @throws PlatformError, and WeirError of the inbox
   */
  async openMissed(where: FindActiveChannels, mayOpen: () => boolean): Promise<void> {
    this.#watermark = await this.#readWatermark(this.#parts.now());
    for (const channel of await where(this.#since)) {
      const { isBound } = await this.#parts.ledger.policyOf(channel);
      if (!isBound || !mayOpen()) continue;
      this.#open.add(channel.channel.name);
      this.#parts.open(this.#gapOf(channel));
    }
  }

  async #readWatermark(at: Date, known: readonly Gap[] = []): Promise<Date | null> {
    const { platform, account, ledger } = this.#parts;
    const bot = await account();
    const watermark = await ledger.watermark(platform, bot);
    if (watermark === null) {
      // From now on the watermark says that everything before it was received.
      for (const gap of known) if (gap.isSparse === true) await ledger.keepGap(gap);
      await ledger.moveWatermark(platform, bot, at);
    }
    // The watermark was set by a fast clock, so how much was received is unknown.
    return watermark !== null && watermark > at ? new Date(0) : watermark;
  }

  /**
   * Waits until the searches show whether a channel lacks messages. After too long, records a gap instead.
   * @returns the recorded gap, not being filled yet; null: none
   */
  async waitForSearch(channel: ChannelOnPlatform): Promise<Gap | null> {
    const { platformRetry, holdMs, ledger } = this.#parts;
    const { name } = channel.channel;
    if (this.#searches === 0 || this.#known.has(name)) return null;
    const overtaken = this.#overtaken.get(name);
    if (overtaken !== undefined) return overtaken;
    const leftMs = holdMs - (performance.now() - this.#searchedFrom);
    if (leftMs > 0 && (await platformRetry.within(leftMs, this.#searched))) return null;
    const gap = this.#gapOf(channel);
    await ledger.keepGap(gap);
    this.#overtaken.set(name, gap);
    return gap;
  }

  filled(name: string): void {
    this.#open.delete(name);
    if (this.#overtaken.has(name)) this.#overtaken.set(name, null);
  }

  /** Must not throw. */
  async #search(find: FindActiveChannels, begun: Promise<unknown>): Promise<void> {
    await begun;
    // If the bot has never listened before, nothing counts as missing.
    if (this.#watermark === null) return;
    await this.#parts.platformRetry.until("channels_not_found", Number.POSITIVE_INFINITY, async () => {
      // Channels in which every message is answered come first: somebody waits for an answer there.
      const [first, rest]: [ChannelOnPlatform[], ChannelOnPlatform[]] = [[], []];
      for (const channel of await find(this.#since)) {
        if (this.#known.has(channel.channel.name)) continue;
        const { isBound, answersAll } = await this.#parts.ledger.policyOf(channel);
        if (isBound) (answersAll ? first : rest).push(channel);
      }
      for (const channel of [...first, ...rest]) await this.#openFound(channel);
    });
  }

  async #openFound(channel: ChannelOnPlatform): Promise<void> {
    const { name } = channel.channel;
    const gap = this.#gapOf(channel);
    if (!this.#open.has(name)) {
      if (this.#found < MAX_CHANNELS) this.#open.add(name);
      // Reading all takes minutes or hours. A recorded gap survives restarts and delays no watermark.
      else await this.#parts.ledger.keepGap(gap);
      this.#found += 1;
    }
    this.#parts.open(gap);
  }

  #gapOf({ channel, kind, workspace, place }: ChannelOnPlatform): Gap {
    const afterId = this.#parts.history.idBefore(channel, this.#since);
    return { channel, kind, workspace, ...(place !== undefined && { place }), afterId };
  }

  get #since(): Date {
    const { now, maxAgeMs } = this.#parts;
    const from = this.#watermark ?? this.#begunAt;
    return new Date(Math.max(from.getTime(), now().getTime() - maxAgeMs));
  }
}
