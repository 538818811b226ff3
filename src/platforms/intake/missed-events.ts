import type { ChannelOnPlatform } from "../../core/message.ts";
import type { Gap, CatchUpLedger } from "../platform.ts";
import type { Patience } from "../shared/patience.ts";
import type { FindActiveChannels, ChannelDiscovery } from "./channel-discovery.ts";

export interface MissedEventsParts {
  readonly platform: string;
  readonly ledger: Pick<CatchUpLedger, "gapOf">;
  readonly patience: Patience;
  readonly discovery: Pick<ChannelDiscovery, "openMissed">;
  /** Has a gap filled. */
  readonly open: (gap: Gap) => void;
}

/** Channels of which an event could not be taken in: of each its gap is looked for, and of no other. */
export class MissedEvents {
  readonly #parts: MissedEventsParts;
  /** Looks under way, by the channel's name. */
  readonly #searches = new Map<string, symbol>();

  constructor(parts: MissedEventsParts) {
    this.#parts = parts;
  }

  get isDone(): boolean {
    return this.#searches.size === 0;
  }

  /**
   * While the database or the platform is away there may be very many: one search is enough for all that are missing of a
   * channel when it comes. Returns at once.
   * @param where the channel of that name; none: Weir takes no part in it
   * @param begun resolves when the gaps of a new connection are known
   */
  miss(name: string, where: FindActiveChannels, begun: Promise<unknown>): void {
    if (this.#searches.has(name)) return;
    const search = Symbol(name);
    this.#searches.set(name, search);
    void this.#search(name, where, begun, search).finally(() => this.#end(name, search));
  }

  /**
   * Before an event of a channel is taken in: it tells where that is, so that nothing has to be found for it.
   * @throws PlatformError, and WeirError of the inbox
   */
  async openGapOf(home: ChannelOnPlatform): Promise<void> {
    const { name } = home.channel;
    const search = this.#searches.get(name);
    if (search !== undefined) await this.#open(name, async () => Promise.resolve([home]), search);
  }

  async #search(
    name: string,
    where: FindActiveChannels,
    begun: Promise<unknown>,
    search: symbol,
  ): Promise<void> {
    await begun;
    await this.#parts.patience.until("gap_not_found", Number.POSITIVE_INFINITY, async () =>
      this.#open(name, where, search),
    );
  }

  async #open(name: string, where: FindActiveChannels, search: symbol): Promise<void> {
    const { platform, ledger, discovery, open } = this.#parts;
    if (this.#searches.get(name) !== search) return;
    const gap = await ledger.gapOf({ platform, name });
    if (gap === null) {
      // What is missing once a gap is open may not be found any more: another search has to come.
      await discovery.openMissed(where, () => this.#end(name, search));
    } else if (this.#end(name, search)) {
      open(gap);
    }
  }

  /** @returns false: it was over before */
  #end(name: string, search: symbol): boolean {
    return this.#searches.get(name) === search && this.#searches.delete(name);
  }
}
