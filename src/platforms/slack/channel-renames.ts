import { Cache } from "../../async/cache.ts";
import type { ChannelRename } from "../../core/message.ts";
import type { CatchUpLedger } from "../platform.ts";
import { PLATFORM_NAME } from "./address.ts";

const MAX_MET = 10_000;

type Ledger = Pick<CatchUpLedger, "channelRenames" | "renameChannel">;

/**
 * Slack gives a private channel another id when it is shared with another organisation. Weir keeps the first id, so that the
 * channel's log, threads and waiting work stay valid. Ids are translated at Slack's border, in both directions.
 */
export class ChannelRenames {
  #ledger: Ledger | null = null;
  /** Weir's id by Slack's, and Slack's newest by Weir's. */
  #first: ReadonlyMap<string, string> = new Map();
  #newest: ReadonlyMap<string, string> = new Map();
  /** Channels for which the log was asked: another daemon may have heard of their new id. */
  readonly #met = new Cache<void>(MAX_MET);
  /** Changes that are being noted: a message under the new id may follow at once. */
  #noting: Promise<unknown> = Promise.resolve();

  /** Call it before the first event. */
  use(ledger: Ledger): void {
    this.#ledger = ledger;
  }

  /** Weir's id of a channel. Pure, as far as is known. */
  firstId(id: string): string {
    return this.#first.get(id) ?? id;
  }

  /** Slack's id of a channel. */
  newestId(id: string): string {
    return this.#newest.get(id) ?? id;
  }

  /** Reads what other daemons have heard, once for each channel. @throws WeirError if the database does not answer */
  async meet(id: string): Promise<void> {
    await this.#noting;
    // One look for all that ask meanwhile: they go on in their order.
    await this.#met.get(id, async () => ({ value: await this.read(), forMs: Number.POSITIVE_INFINITY }));
  }

  /** @throws WeirError if the database does not answer */
  async changed(from: string, to: string): Promise<void> {
    const noting = this.#note(from, to);
    // Its own caller gets its error, and Slack sends the event again.
    this.#noting = Promise.allSettled([this.#noting, noting]);
    await noting;
  }

  async #note(from: string, to: string): Promise<void> {
    await this.#ledger?.renameChannel(PLATFORM_NAME, from, to);
    await this.read();
  }

  /** @throws WeirError if the database does not answer */
  async read(): Promise<void> {
    const renames: readonly ChannelRename[] = (await this.#ledger?.channelRenames(PLATFORM_NAME)) ?? [];
    this.#first = new Map(renames.map(({ id, firstId }) => [id, firstId]));
    this.#newest = new Map(renames.map(({ id, firstId }) => [firstId, id]));
  }
}
