import type { Logger } from "pino";
import { Looks } from "../../async/looks.ts";
import { retryWrite } from "../../async/retry.ts";
import { errorMessage } from "../../core/errors.ts";
import type { ChannelId, Seq } from "../../core/ids.ts";
import type { ChannelStore } from "../../store/channels/channels.ts";
import type { PartitionStore } from "../../store/channels/partitions.ts";
import type { ChannelHomes } from "./channel-homes.ts";
import type { HandOver } from "./hand-over.ts";
import type { Homes, HomesListener, Partition } from "./homes.ts";
import type { Renewal } from "../live/renewal.ts";
import type { TakeUps } from "./take-up.ts";
import type { Waker } from "../wakes/waker.ts";

/** How often it looks at what is due, ms. */
const LOOK_MS = 1000;
/** What has waited for less may still be on its way, ms. */
const OVERDUE_MS = 1000;

export interface HomeKeeperParts {
  readonly cluster: Pick<Homes, "start">;
  readonly store: {
    readonly partitions: Pick<PartitionStore, "take" | "due">;
    readonly channels: Pick<ChannelStore, "withWorkIn">;
  };
  readonly homes: Pick<ChannelHomes, "held" | "hold" | "place" | "release">;
  readonly handOver: Pick<HandOver, "handOn" | "drop">;
  readonly renewal: Pick<Renewal, "review">;
  readonly takeUps: Pick<TakeUps, "takeUp" | "remindDue">;
  readonly waker: Pick<Waker, "woken">;
  /** This daemon's name in the cluster. */
  readonly daemon: string;
  /** Names of the platforms that are served. */
  readonly platforms: readonly string[];
  /** Entries without a summary of which a channel has something to do. */
  readonly rawEntries: () => number;
  /** Told when what is due in partitions that were taken is being taken up: reminders and approvals may wait there. Must not throw. */
  readonly onTakenUp: () => void;
  readonly log: Logger;
  /** Default: each second. */
  readonly lookMs?: number;
}

/**
 * Takes up the channels of the partitions that this daemon is given, and lets go of those that it is to hand on.
 *
 *   away → (baton) being taken → (epoch is raised) held → (asked, drained) away
 *   being taken, held → (connection gone) away
 *
 * What is due follows from the log. Each second it looks for what has waited for longer than a wake takes, and for what others have
 * changed, so a wake may be lost.
 */
export class HomeKeeper implements HomesListener, AsyncDisposable {
  readonly #parts: HomeKeeperParts;
  /** Partitions that are being taken, each with whoever takes it: one that is lost meanwhile is not held. */
  readonly #taking = new Map<Partition, symbol>();
  /** Partitions that are held, and of which nobody has read yet what an earlier home has left. */
  readonly #unread = new Set<Partition>();
  readonly #looks = new Looks(async () => this.#look());
  /** The last reported error of a look. */
  #warned: string | null = null;

  constructor(parts: HomeKeeperParts) {
    this.#parts = parts;
  }

  /** Joins the cluster. */
  async start(): Promise<void> {
    await this.#parts.cluster.start(this);
    this.#looks.now();
  }

  /** Looks no more. Resolves when the look under way has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks[Symbol.asyncDispose]();
  }

  async gained(partitions: readonly Partition[]): Promise<readonly Partition[]> {
    const { store, homes, daemon, log } = this.#parts;
    const taker = Symbol("taker");
    for (const partition of partitions) this.#taking.set(partition, taker);
    try {
      const { result: taken } = await retryWrite(async () => store.partitions.take(partitions, daemon));
      const held = taken.filter(({ id }) => this.#taking.get(id) === taker);
      homes.hold(held);
      for (const { id } of held) this.#unread.add(id);
      if (held.length > 0) this.#looks.now();
      return held.map(({ id }) => id);
    } catch (error) {
      log.warn({ partitions: partitions.length, why: errorMessage(error) }, "partitions_not_taken");
      return [];
    } finally {
      for (const partition of partitions)
        if (this.#taking.get(partition) === taker) this.#taking.delete(partition);
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

  #letGo(partitions: readonly Partition[]): void {
    this.#parts.homes.release(partitions);
    for (const partition of partitions) {
      this.#taking.delete(partition);
      this.#unread.delete(partition);
    }
  }

  /** Looks at what is due. Must not throw. */
  async #look(): Promise<number> {
    try {
      await this.#takeUpUnread();
      await this.#remindDue();
      await this.#parts.renewal.review();
      this.#warned = null;
    } catch (error) {
      this.#warn(error);
    }
    return this.#parts.lookMs ?? LOOK_MS;
  }

  /** All that an earlier home has left: due messages, and answers, compactions and subagents that are under way. */
  async #takeUpUnread(): Promise<void> {
    const { store, homes, takeUps, platforms, rawEntries, onTakenUp, log } = this.#parts;
    const partitions = [...this.#unread];
    if (partitions.length === 0) return;
    // First: one that is lost and taken anew meanwhile is to be read anew.
    this.#unread.clear();
    const rows = await store.channels
      .withWorkIn(partitions, platforms, rawEntries())
      .catch((error: unknown) => {
        const { held } = homes;
        for (const partition of partitions) if (held.includes(partition)) this.#unread.add(partition);
        throw error;
      });
    // What was lost meanwhile is refused there.
    for (const { id, address } of rows) homes.place(id, address);
    void takeUps.takeUp(rows);
    onTakenUp();
    if (rows.length > 0)
      log.info({ partitions: partitions.length, channels: rows.length }, "partitions_taken_up");
  }

  /** Messages whose wakes were lost. */
  async #remindDue(): Promise<void> {
    const { store, homes, takeUps, platforms } = this.#parts;
    const { held } = homes;
    if (held.length === 0) return;
    takeUps.remindDue(await store.partitions.due(held, platforms, OVERDUE_MS));
  }

  #warn(error: unknown): void {
    const why = errorMessage(error);
    if (why === this.#warned) return;
    this.#warned = why;
    this.#parts.log.warn({ why }, "due_channels_unknown");
  }
}
