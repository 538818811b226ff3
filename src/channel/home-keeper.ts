import type { Logger } from "pino";
import { PollLoop } from "../async/poll-loop.ts";
import { retryWrite } from "../async/retry.ts";
import { LatestOnly } from "../async/latest-only.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import type { ChannelStore } from "../store/channels/channels.ts";
import type { PartitionStore } from "../store/channels/partitions.ts";
import type { ChannelHomes } from "../ownership/channel-homes.ts";
import type { HandOver } from "./hand-over.ts";
import { type Homes, type HomesListener, type Partition, PARTITIONS } from "../ownership/homes.ts";
import type { Renewal } from "./renewal.ts";
import type { Resumption } from "./resumption.ts";
import type { Waker } from "./waker.ts";

/** Interval between polls for due work, ms. */
const LOOK_MS = 1000;
/** Messages that have waited for less are not overdue: their wake may still arrive, ms. */
const OVERDUE_MS = 1000;

export interface HomeKeeperParts {
  readonly cluster: Pick<Homes, "start" | "owns">;
  readonly store: {
    readonly partitions: Pick<PartitionStore, "take" | "due">;
    readonly channels: Pick<ChannelStore, "withWorkIn">;
  };
  readonly homes: Pick<ChannelHomes, "held" | "hold" | "place" | "release">;
  readonly handOver: Pick<HandOver, "handOn" | "drop">;
  readonly renewal: Pick<Renewal, "review">;
  readonly resumption: Pick<Resumption, "takeUp" | "wakeDue">;
  readonly waker: Pick<Waker, "woken">;
  /** This daemon's name in the cluster. */
  readonly daemon: string;
  /** Names of the platforms that are served. */
  readonly platforms: readonly string[];
  readonly rawEntries: () => number;
  /** Called when work of acquired partitions is resumed: other work may wait there. Must not throw. */
  readonly onTakenUp: () => void;
  readonly log: Logger;
  /** Default: each second. */
  readonly lookMs?: number;
}

/**
 * Takes partitions in the database when their leases arrive, resumes their channels, and releases partitions that are handed on or
 * lost.
 *
 *   away → (lease) being taken → (epoch is raised) held → (handed on, drained) away
 *   being taken, held → (connection lost) away
 *   held → (epoch is over, lease still here) being taken
 *
 * Due work follows from the log. A poll each second finds overdue messages and changes of other daemons, so a wake may be lost.
 */
export class HomeKeeper implements HomesListener, AsyncDisposable {
  readonly #parts: HomeKeeperParts;
  /** A partition that is lost during its acquisition is not held. */
  readonly #acquiring = new LatestOnly<Partition>();
  /** Held partitions whose work from an earlier home was not read yet. */
  readonly #unread = new Set<Partition>();
  readonly #looks = new PollLoop(async () => this.#look());
  /** The last logged error of a poll. */
  #warned: string | null = null;

  constructor(parts: HomeKeeperParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.#parts.cluster.start(this);
    this.#looks.now();
  }

  /** Stops polling. Resolves when the running poll has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks[Symbol.asyncDispose]();
  }

  async gained(partitions: readonly Partition[]): Promise<readonly Partition[]> {
    try {
      return await this.#acquiring.run(partitions, async (own) => this.#take(own));
    } catch (error) {
      const why = errorMessage(error);
      this.#parts.log.warn({ partitions: partitions.length, why }, "partitions_not_taken");
      return [];
    }
  }

  async handingOn(partitions: readonly Partition[], deadline: AbortSignal): Promise<void> {
    this.#letGo(partitions);
    await this.#parts.handOver.handOn(new Set(partitions), deadline);
  }

  lost(partitions: readonly Partition[]): void {
    this.#letGo(partitions);
    this.#parts.handOver.drop(new Set(partitions));
  }

  woken(channel: ChannelId, seq: Seq): void {
    void this.#parts.waker.woken(channel, seq);
  }

  /** @param own partitions not lost since the acquisition began: taking a lost one would end the next home's epoch */
  async #take(own: () => readonly Partition[]): Promise<readonly Partition[]> {
    const { store, homes, daemon } = this.#parts;
    const { result: taken } = await retryWrite(async () => {
      const wanted = own();
      return wanted.length === 0 ? [] : store.partitions.take(wanted, daemon);
    });
    const wanted = new Set(own());
    const held = taken.filter(({ id }) => wanted.has(id));
    homes.hold(held);
    for (const { id } of held) this.#unread.add(id);
    if (held.length > 0) this.#looks.now();
    return held.map(({ id }) => id);
  }

  #letGo(partitions: readonly Partition[]): void {
    this.#parts.homes.release(partitions);
    this.#acquiring.drop(partitions);
    for (const partition of partitions) this.#unread.delete(partition);
  }

  /** One poll. Must not throw. */
  async #look(): Promise<number> {
    try {
      await this.#takeAnew();
      await this.#takeUpUnread();
      await this.#wakeDue();
      await this.#parts.renewal.review();
      this.#warned = null;
    } catch (error) {
      const why = errorMessage(error);
      if (why !== this.#warned) this.#parts.log.warn({ why }, "due_channels_unknown");
      this.#warned = why;
    }
    return this.#parts.lookMs ?? LOOK_MS;
  }

  /**
   * Takes partitions again whose epoch a delayed statement of an earlier home has ended: a refused write has released them here, but
   * this daemon still holds their leases.
   */
  async #takeAnew(): Promise<void> {
    const { cluster, homes, log } = this.#parts;
    const held = new Set(homes.held);
    const refused = Array.from({ length: PARTITIONS }, (_, id) => id).filter(
      (id) => cluster.owns(id) && !held.has(id) && !this.#acquiring.has(id),
    );
    if (refused.length === 0) return;
    log.warn({ partitions: refused }, "partitions_taken_anew");
    await this.gained(refused);
  }

  /** Resumes the work that an earlier home left: due messages, and unfinished answers, compactions and work of features. */
  async #takeUpUnread(): Promise<void> {
    const { store, homes, resumption, platforms, rawEntries, onTakenUp, log } = this.#parts;
    const partitions = [...this.#unread];
    if (partitions.length === 0) return;
    // Cleared before the read: a partition that is lost and taken again meanwhile must be read again.
    this.#unread.clear();
    const rows = await store.channels
      .withWorkIn(partitions, platforms, rawEntries())
      .catch((error: unknown) => {
        const { held } = homes;
        for (const partition of partitions) if (held.includes(partition)) this.#unread.add(partition);
        throw error;
      });
    // Work in partitions that were lost meanwhile is refused there.
    for (const { id, address } of rows) homes.place(id, address);
    void resumption.takeUp(rows);
    onTakenUp();
    if (rows.length > 0)
      log.info({ partitions: partitions.length, channels: rows.length }, "partitions_taken_up");
  }

  /** Wakes channels with overdue messages: their wakes were lost. */
  async #wakeDue(): Promise<void> {
    const { store, homes, resumption, platforms } = this.#parts;
    const { held } = homes;
    if (held.length === 0) return;
    resumption.wakeDue(await store.partitions.due(held, platforms, OVERDUE_MS));
  }
}
