import PQueue from "p-queue";
import type { Logger } from "pino";
import { retryWrite } from "../async/retry.ts";
import type { Config } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import type { ChannelRow, ChannelStore } from "../store/channels/channels.ts";
import type { DueChannel } from "../store/channels/partitions.ts";
import type { ActorLoaderParts } from "./loader.ts";
import type { ChannelHomes } from "../ownership/channel-homes.ts";
import type { ChannelRegistry } from "./registry.ts";
import type { Renewal } from "./renewal.ts";
import type { Waker } from "./waker.ts";

/** Channels loaded concurrently: a locked row blocks no other channel. */
const RESUMED_AT_ONCE = 8;
/** Number of retries: they cover a restart of the database of up to 25 s. */
const RETRIES = 8;

export interface TakeUpsParts {
  readonly channels: Pick<ChannelStore, "withWork" | "withWorkIn">;
  readonly registry: Pick<ChannelRegistry, "isClosed" | "has" | "loaded">;
  readonly homes: Pick<ChannelHomes, "held" | "isHere" | "place">;
  readonly platformOf: ActorLoaderParts["platformOf"];
  readonly renewal: Pick<Renewal, "owe">;
  readonly waker: Pick<Waker, "wake">;
}

/** Loads channels with due work by the log: after a start, a reload, a change of homes, a lost wake. */
export class Resumption {
  readonly #parts: TakeUpsParts;
  readonly #waiting = new Set<ChannelId>();
  readonly #queue = new PQueue({ concurrency: RESUMED_AT_ONCE });

  constructor(parts: TakeUpsParts) {
    this.#parts = parts;
  }

  /**
   * Resumes all due work by the log: after a start, and when more channels are served.
   * @param rawEntries number of entries without a summary from which a compaction is due
   * @returns the number of channels with due work
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

  /** Resumes due work in the served ones of these channels, a few at a time, in this order. Must not throw. */
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

  /** Wakes channels with overdue messages that do not know of them. Returns at once. */
  wakeDue(due: readonly DueChannel[]): void {
    for (const { id, address } of due) this.#parts.homes.place(id, address);
    void this.takeUp(this.tell(due));
  }

  /**
   * Tells loaded channels of due messages that they do not know.
   * @returns the other channels
   */
  tell(due: readonly DueChannel[]): DueChannel[] {
    const { registry } = this.#parts;
    return due.filter(({ id, seq }) => {
      const actor = registry.loaded(id);
      if (actor !== undefined && actor.history.current.lastSeq < seq) actor.look(seq);
      // A channel that is being loaded reads them anyway.
      return !registry.has(id);
    });
  }

  async #takeUp(id: ChannelId): Promise<void> {
    const { registry, renewal, waker } = this.#parts;
    const loaded = registry.loaded(id);
    // Loading a channel also recovers its undelivered answers.
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

/** Number of entries without a summary from which a channel counts as having work. */
export function mostRawMessages({ agents }: Pick<Config, "agents">): number {
  return Math.min(...agents.map((one) => one.compaction.maxRawMessages));
}

/** Resumes due work by the log on these platforms, in the channels that are served now. */
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
 * Resumes due work of a platform whose channels are served again, with all other waiting work. Must not throw.
 * @param waiting started again: each then looks for due work
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
