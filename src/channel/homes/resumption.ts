import PQueue from "p-queue";
import type { Logger } from "pino";
import { retryWrite } from "../../async/retry.ts";
import type { Config } from "../../config/config.ts";
import { errorMessage } from "../../core/errors.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { ChannelRow, ChannelStore } from "../../store/channels/channels.ts";
import type { DueChannel } from "../../store/channels/partitions.ts";
import type { ActorLoaderParts } from "../loader.ts";
import type { ChannelHomes } from "./channel-homes.ts";
import type { ChannelRegistry } from "../registry.ts";
import type { Renewal } from "../renewal.ts";
import type { Waker } from "../waker.ts";

/** Channels that are loaded at a time after a start: a locked row holds up no other channel. */
const RESUMED_AT_ONCE = 8;
/** A database that is restarted meanwhile is waited for, for 25 s. */
const RETRIES = 8;

export interface TakeUpsParts {
  readonly channels: Pick<ChannelStore, "withWork" | "withWorkIn">;
  readonly registry: Pick<ChannelRegistry, "isClosed" | "has" | "loaded">;
  readonly homes: Pick<ChannelHomes, "held" | "isHere" | "place">;
  readonly platformOf: ActorLoaderParts["platformOf"];
  readonly renewal: Pick<Renewal, "owe">;
  readonly waker: Pick<Waker, "wake">;
}

/** Loads channels that the log says have something due: after a start, a reload, a change of homes, a lost wake. */
export class Resumption {
  readonly #parts: TakeUpsParts;
  /** Channels that wait for it. */
  readonly #waiting = new Set<ChannelId>();
  readonly #queue = new PQueue({ concurrency: RESUMED_AT_ONCE });

  constructor(parts: TakeUpsParts) {
    this.#parts = parts;
  }

  /**
   * Takes up everything that the log says is due: after a start, and where channels are served that were not.
   * @param rawEntries so many entries without a summary are due for a compaction
   * @returns how many channels had something to do
   */
  async resume(platforms: readonly string[], rawEntries: number): Promise<number> {
    const { channels, homes, platformOf } = this.#parts;
    const { held } = homes;
    const here = platforms.filter((platform) => homes.isHere(platform));
    const spread = platforms.filter((platform) => !here.includes(platform));
    const rows = await channels.withWork(here, rawEntries);
    if (spread.length > 0) rows.push(...(await channels.withWorkIn(held, spread, rawEntries)));
    await this.takeUp(rows);
    return rows.filter(({ address }) => platformOf(address) !== undefined).length;
  }

  /** Takes up what is due in channels that are served, a few at a time, in this order. Must not throw. */
  async takeUp(channels: readonly Pick<ChannelRow, "id" | "address">[]): Promise<void> {
    const { registry, platformOf } = this.#parts;
    const wanted = channels.filter(
      ({ id, address }) => platformOf(address) !== undefined && !this.#waiting.has(id),
    );
    for (const { id } of wanted) this.#waiting.add(id);
    await this.#queue.addAll(
      wanted.map(({ id }) => async () => {
        this.#waiting.delete(id);
        if (!registry.isClosed) await this.#takeUp(id);
      }),
    );
  }

  /** Messages of these have waited for longer than a wake takes: wakes those that do not know of them. Returns at once. */
  remindDue(due: readonly DueChannel[]): void {
    const { registry, homes } = this.#parts;
    const unknown = due.filter(({ id, address, seq }) => {
      homes.place(id, address);
      const actor = registry.loaded(id);
      if (actor !== undefined && actor.history.current.lastSeq < seq) actor.look(seq);
      // One that is being loaded reads them by itself.
      return !registry.has(id);
    });
    void this.takeUp(unknown);
  }

  async #takeUp(id: ChannelId): Promise<void> {
    const { registry, renewal, waker } = this.#parts;
    const loaded = registry.loaded(id);
    // One that is loaded now reads what is undelivered by itself.
    if (loaded === undefined) return waker.wake(id);
    renewal.owe(id);
    loaded.takeUp();
  }
}

export interface TakeUpParts {
  readonly config: Pick<Config, "agents">;
  readonly resumption: Pick<Resumption, "resume">;
  readonly log: Logger;
}

/** Entries without a summary of which a channel has something to do. */
export function mostRawMessages({ agents }: Pick<Config, "agents">): number {
  return Math.min(...agents.map((one) => one.compaction.maxRawMessages));
}

/** Takes up what the log says is due on these platforms, in the channels that are served now. */
export async function takeUpWork(
  { config, resumption, log }: TakeUpParts,
  platforms: readonly { readonly name: string }[],
): Promise<void> {
  const names = platforms.map(({ name }) => name);
  const { result: resumed } = await retryWrite(
    async () => resumption.resume(names, mostRawMessages(config)),
    RETRIES,
  );
  if (resumed > 0) log.info({ channels: resumed }, "work_resumed");
}

/**
 * The same where channels of a platform are served that were not, with the reminders and approvals that wait there. Must not throw.
 * @param waiting each looks for what is due when it is started
 */
export async function takeUpPlatform(
  parts: TakeUpParts,
  platform: string,
  waiting: readonly { start(): void }[],
): Promise<void> {
  try {
    await takeUpWork(parts, [{ name: platform }]);
  } catch (error) {
    parts.log.warn({ platform, why: errorMessage(error) }, "work_not_resumed");
  }
  for (const one of waiting) one.start();
}
