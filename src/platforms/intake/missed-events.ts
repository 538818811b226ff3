import type { ChannelOnPlatform } from "../../core/message.ts";
import type { Gap, CatchUpLedger } from "../platform.ts";
import type { Patience } from "../shared/patience.ts";
import type { FindSpoken, ChannelDiscovery } from "./channel-discovery.ts";

export interface MissedEventsParts {
  readonly platform: string;
  readonly ledger: Pick<CatchUpLedger, "gapOf">;
  readonly patience: Patience;
  readonly unheard: Pick<ChannelDiscovery, "openMissed">;
  /** Has a gap filled. */
  readonly open: (gap: Gap) => void;
}

/** Channels of which an event could not be taken in: of each its gap is looked for, and of no other. */
export class MissedEvents {
  readonly #parts: MissedEventsParts;
  /** Looks under way, by the channel's name. */
  readonly #looks = new Map<string, symbol>();

  constructor(parts: MissedEventsParts) {
    this.#parts = parts;
  }

  get isDone(): boolean {
    return this.#looks.size === 0;
  }

  /**
   * While the database or the platform is away there may be very many: one look is enough for all that are missing of a
   * channel when it comes. Returns at once.
   * @param where the channel of that name; none: Weir takes no part in it
   * @param begun resolves when the gaps of a new connection are known
   */
  miss(name: string, where: FindSpoken, begun: Promise<unknown>): void {
    if (this.#looks.has(name)) return;
    const look = Symbol(name);
    this.#looks.set(name, look);
    void this.#look(name, where, begun, look).finally(() => this.#end(name, look));
  }

  /**
   * Before an event of a channel is taken in: it tells where that is, so that nothing has to be found for it.
   * @throws PlatformError, and WeirError of the inbox
   */
  async behind(home: ChannelOnPlatform): Promise<void> {
    const { name } = home.channel;
    const look = this.#looks.get(name);
    if (look !== undefined) await this.#open(name, async () => Promise.resolve([home]), look);
  }

  async #look(name: string, where: FindSpoken, begun: Promise<unknown>, look: symbol): Promise<void> {
    await begun;
    await this.#parts.patience.until("gap_not_found", Number.POSITIVE_INFINITY, async () =>
      this.#open(name, where, look),
    );
  }

  async #open(name: string, where: FindSpoken, look: symbol): Promise<void> {
    const { platform, ledger, unheard, open } = this.#parts;
    if (this.#looks.get(name) !== look) return;
    const gap = await ledger.gapOf({ platform, name });
    if (gap === null) {
      // What is missing once a gap is open may not be found any more: another look has to come.
      await unheard.openMissed(where, () => this.#end(name, look));
    } else if (this.#end(name, look)) {
      open(gap);
    }
  }

  /** @returns false: it was over before */
  #end(name: string, look: symbol): boolean {
    return this.#looks.get(name) === look && this.#looks.delete(name);
  }
}
