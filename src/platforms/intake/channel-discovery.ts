import type { ChannelOnPlatform } from "../../core/message.ts";
import type { Gap, CatchUpLedger } from "../platform.ts";
import type { ChatHistory } from "./history.ts";
import type { Patience } from "../shared/patience.ts";

export interface ChannelDiscoveryParts {
  readonly platform: string;
  /** The bot as whom Weir listens. Throws PlatformError. */
  readonly account: () => Promise<string>;
  readonly ledger: Pick<CatchUpLedger, "watermark" | "moveWatermark" | "policyOf" | "keepGap">;
  readonly history: Pick<ChatHistory, "idBefore" | "compare">;
  readonly patience: Patience;
  readonly now: () => Date;
  /** What is older is not looked for: nobody would be answered, and a channel begins with its past anyway. */
  readonly maxAgeMs: number;
  /** How long the events of a channel wait until it is known whether something is missing of it, ms. */
  readonly holdMs: number;
  /** Has the gap of a channel filled; `filled` is to be called when it is. */
  readonly open: (gap: Gap) => void;
}

/** Finds channels in which somebody may have spoken since then, the newest first where that is known. */
export type FindActiveChannels = (since: Date) => Promise<readonly ChannelOnPlatform[]>;

/** Channels that are remembered until they are looked into. The gaps of others are on record at once, and outlive a crash. */
const MAX_CHANNELS = 300;

/**
 * Channels that the log has nothing of: what was said there while nobody listened is looked for from the time on up to
 * which everything was heard.
 */
export class ChannelDiscovery {
  readonly #parts: ChannelDiscoveryParts;
  /** Null: it is the first time that anybody listens. */
  #watermark: Date | null = null;
  #begunAt: Date;
  /** Channels with a gap of their own. */
  #known: ReadonlySet<string> = new Set();
  #found = 0;
  /** Searches under way, since when by a steady clock, and when the last of them is over. */
  #searches = 0;
  #searchedFrom = 0;
  #searched: Promise<unknown> = Promise.resolve();
  /** Channels whose events did not wait for the end of the search, with what may be missing of them; null: nothing any more. */
  readonly #overtaken = new Map<string, Gap | null>();
  /** Channels whose gap is not filled yet. */
  readonly #open = new Set<string>();

  constructor(parts: ChannelDiscoveryParts) {
    this.#parts = parts;
    this.#begunAt = parts.now();
  }

  /** Nothing is being looked for, and nothing that was found is missing any more. */
  get isDone(): boolean {
    return this.#searches === 0 && this.#open.size === 0;
  }

  /**
   * A connection is there.
   * @param known gaps of channels that the log has something of
   * @throws PlatformError, and WeirError of the inbox
   */
  async begin(known: readonly Gap[]): Promise<void> {
    const at = this.#parts.now();
    this.#watermark = await this.#readWatermark(at, known);
    this.#begunAt = at;
    this.#known = new Set(known.map(({ channel }) => channel.name));
    this.#found = 0;
  }

  /** Where the log has nothing of what was heard in a channel, its gap begins no earlier than nobody listened. */
  sinceWatermark(gap: Gap): Gap {
    const { history } = this.#parts;
    if (gap.isSparse !== true || this.#watermark === null) return gap;
    const watermarkId = history.idBefore(gap.channel, this.#watermark);
    return history.compare(watermarkId, gap.afterId) > 0 ? { ...gap, afterId: watermarkId } : gap;
  }

  /**
   * Looks for channels, and has what was missed of them fetched. Returns at once.
   * @param begun resolves when `begin` is done
   */
  search(find: FindActiveChannels, begun: Promise<unknown>): void {
    this.#track(async () => this.#search(find, begun));
  }

  /**
   * Has what was missed of a channel fetched of which an event is known to be missing.
   * @param where the channel; none: Weir takes no part in it
   * @param mayOpen asked right before its gap is open
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
      // From now on the mark says that all was heard before it.
      for (const gap of known) if (gap.isSparse === true) await ledger.keepGap(gap);
      await ledger.moveWatermark(platform, bot, at);
    }
    // A clock that was ahead has set it: how much was heard nobody knows.
    return watermark !== null && watermark > at ? new Date(0) : watermark;
  }

  #track(search: () => Promise<void>): void {
    if (this.#searches === 0) {
      this.#searchedFrom = performance.now();
      this.#overtaken.clear();
    }
    this.#searches += 1;
    const searching = search().finally(() => {
      this.#searches -= 1;
    });
    this.#searched = Promise.all([this.#searched, searching]).then(() => undefined);
  }

  /**
   * Waits until it is known whether something is missing of a channel, unless that takes too long: then it is on record.
   * @returns what may be missing and nobody looks for yet
   */
  async waitForSearch(channel: ChannelOnPlatform): Promise<Gap | null> {
    const { patience, holdMs, ledger } = this.#parts;
    const { name } = channel.channel;
    if (this.#searches === 0 || this.#known.has(name)) return null;
    const overtaken = this.#overtaken.get(name);
    if (overtaken !== undefined) return overtaken;
    const leftMs = holdMs - (performance.now() - this.#searchedFrom);
    if (leftMs > 0 && (await patience.within(leftMs, this.#searched))) return null;
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
    // Nothing is missing where nobody listened before.
    if (this.#watermark === null) return;
    await this.#parts.patience.until("channels_not_found", Number.POSITIVE_INFINITY, async () => {
      // Where everything said is a question, somebody waits for an answer.
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
      // To read all of them takes minutes or hours: neither the mark waits for that, nor does a restart begin again.
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
