import type { ChannelOnPlatform } from "../../core/message.ts";
import type { Gap, CatchUpLedger } from "../platform.ts";
import type { PlatformRetry } from "../shared/platform-retry.ts";
import type { FindActiveChannels, ChannelDiscovery } from "./channel-discovery.ts";

interface MissedEventsParts {
  readonly platform: string;
  readonly ledger: Pick<CatchUpLedger, "gapOf">;
  readonly platformRetry: PlatformRetry;
  readonly discovery: Pick<ChannelDiscovery, "openMissed">;
  readonly open: (gap: Gap) => void;
}

/** Looks up and fills the gap of each channel of which an event could not be stored. */
export class MissedEvents {
  readonly #parts: MissedEventsParts;
  /** The running search of each channel, by the channel's name. */
  readonly #searches = new Map<string, symbol>();

  constructor(parts: MissedEventsParts) {
    this.#parts = parts;
  }

  get isDone(): boolean {
    return this.#searches.size === 0;
  }

  /**
   * Notes a missed event. Returns at once. One search covers all missed events of a channel: there may be
   * very many while the database or platform is down.
   * @param where finds the channel of that name; no result: Weir ignores the channel
   * @param begun resolves when the gaps of a new connection are known
   */
  miss(name: string, where: FindActiveChannels, begun: Promise<unknown>): void {
    if (this.#searches.has(name)) return;
    const search = Symbol(name);
    this.#searches.set(name, search);
    const open = async (): Promise<void> => this.#open(name, where, search);
    void begun
      .then(async () => this.#parts.platformRetry.until("gap_not_found", Number.POSITIVE_INFINITY, open))
      .finally(() => this.#end(name, search));
  }

  /**
   * Ends the search of a channel by opening its gap. To be called before an event of the channel is stored:
   * the event names the channel, so no search is needed.
   * @throws PlatformError, and WeirError of the inbox
   */
  async openGapOf(home: ChannelOnPlatform): Promise<void> {
    const { name } = home.channel;
    const search = this.#searches.get(name);
    if (search !== undefined) await this.#open(name, async () => Promise.resolve([home]), search);
  }

  async #open(name: string, where: FindActiveChannels, search: symbol): Promise<void> {
    const { platform, ledger, discovery, open } = this.#parts;
    if (this.#searches.get(name) !== search) return;
    const gap = await ledger.gapOf({ platform, name });
    if (gap === null) {
      // The gap may not cover events missed after its opening, so the search ends before that.
      await discovery.openMissed(where, () => this.#end(name, search));
    } else if (this.#end(name, search)) {
      open(gap);
    }
  }

  /** @returns false: the search had ended before */
  #end(name: string, search: symbol): boolean {
    return this.#searches.get(name) === search && this.#searches.delete(name);
  }
}
