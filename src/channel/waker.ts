import type { Logger } from "pino";
import type { Entry } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import type { Indexer } from "../memory/indexer.ts";
import { isOfInfrastructure } from "../store/database/errors.ts";
import type { MemoryStore } from "../store/memory/memories.ts";
import type { Appended } from "../store/log/message-rows.ts";
import type { RunningTurn, TurnClaim } from "../store/turns/turn-rows.ts";
import type { Events } from "../telemetry/events.ts";
import type { AskingMessage } from "../turn/first-recall.ts";
import type { ChannelActor } from "./actor.ts";
import { NotServedError } from "./loader.ts";
import { type ChannelHomes, NotHomeError } from "../ownership/channel-homes.ts";
import type { ChannelRegistry } from "./registry.ts";
import type { BackgroundWork, SharedParts } from "./channel-context.ts";
import type { Renewal } from "./renewal.ts";
import { BackoffTimer } from "../async/backoff.ts";

/** Messages without a reply after which their channel is loaded to check its size. */
const LOOK_AFTER = 20;

export interface WakerParts extends Pick<SharedParts, "features"> {
  readonly background: Pick<BackgroundWork, "changed">;
  readonly memories: Pick<MemoryStore, "behind">;
  readonly registry: ChannelRegistry;
  readonly renewal: Pick<Renewal, "review">;
  readonly homes: ChannelHomes;
  readonly indexer: Pick<Indexer, "mark">;
  readonly events: Pick<Events, "tell">;
  readonly log: Logger;
}

/**
 * Notifies channels of new and changed entries in their logs: their actors here, or their homes. Due work follows from the log, so a
 * notification may be lost, doubled or late.
 */
export class Waker {
  readonly #parts: WakerParts;
  /** Number of messages without a reply, by channel that is not in memory. */
  readonly #heard = new Map<ChannelId, number>();
  readonly #retry = new WakeRetry(async (id) => this.wake(id));

  constructor(parts: WakerParts) {
    this.#parts = parts;
  }

  /** Stops retrying wakes. */
  close(): void {
    this.#retry.close();
  }

  /**
   * Prepares the turn of a message that is about to be appended, if its channel is in memory.
   * @returns the claim with which the append begins the turn; null: the turn begins later
   */
  expect(id: ChannelId, message: AskingMessage): TurnClaim | null {
    const { registry, homes } = this.#parts;
    return homes.holds(id) ? (registry.loaded(id)?.expect(message) ?? null) : null;
  }

  /** Notifies a channel of a message that was appended, or was in its log already and is still due. Returns at once. */
  announce(id: ChannelId, appended: Appended): void {
    if (!appended.duplicate) void this.notify(id, appended.entry, appended.turn);
    else if (appended.due) void this.wakeAgain(id, appended.seq);
  }

  /**
   * Notifies a channel of an appended entry, and of the turn that began with it. A channel without a due message is not loaded for
   * each entry. The home of another daemon's channel is woken instead. Must not throw.
   */
  async notify(id: ChannelId, entry: Entry, turn: RunningTurn | null = null): Promise<void> {
    const { registry, homes, indexer, events } = this.#parts;
    indexer.mark(id);
    events.tell({ type: "log_changed", id });
    const isDue = entry.kind === "user" && entry.addressed;
    const isElsewhere = await homes.isElsewhere(id);
    // Whether the actor of another home's channel is loaded is unknown here.
    if (!isDue && (isElsewhere || !registry.has(id)) && !this.#isTimeToLook(id)) return;
    if (isElsewhere) this.#wakeHome(id, entry.seq);
    else await this.#with(id, (actor) => actor.notify(entry, turn), entry.seq);
  }

  /** A channel without answers must compact, too: it is loaded now and then to check its size. */
  #isTimeToLook(id: ChannelId): boolean {
    const heard = (this.#heard.get(id) ?? 0) + 1;
    if (heard < LOOK_AFTER) {
      this.#heard.set(id, heard);
      return false;
    }
    this.#heard.delete(id);
    return true;
  }

  /** Notifies a channel of a due message that an earlier delivery appended. Must not throw. */
  async wakeAgain(id: ChannelId, seq: Seq): Promise<void> {
    const { homes, indexer } = this.#parts;
    indexer.mark(id);
    if (await homes.isElsewhere(id)) this.#wakeHome(id, seq);
    else await this.#with(id, (actor) => actor.wakeAgain(seq, true), seq);
  }

  /** Notifies a loaded channel of a message that needs no answer. Must not throw. */
  async mention(id: ChannelId, seq: Seq): Promise<void> {
    const { registry, indexer } = this.#parts;
    indexer.mark(id);
    (await registry.inMemory(id))?.wakeAgain(seq, false);
  }

  /**
   * A text of a channel was edited or deleted: notifies its actor, here or at the channel's home. Must not throw if another daemon is
   * home.
   */
  async changed(id: ChannelId, seq: Seq, notedSeq: Seq | null): Promise<void> {
    const { registry, homes, events } = this.#parts;
    events.tell({ type: "log_changed", id });
    await (await registry.inMemory(id))?.changes.heard(seq, notedSeq);
    if (await homes.isElsewhere(id)) homes.wake(id, notedSeq ?? seq);
  }

  /** An edit or a deletion in a channel may have been committed although its write failed. Must not throw. */
  async doubt(id: ChannelId): Promise<void> {
    const { registry, homes } = this.#parts;
    (await registry.inMemory(id))?.doubt();
    if (await homes.isElsewhere(id)) homes.wake(id, 0);
    await this.memoriesGone(id);
  }

  /** Memories and notes of a channel may be deleted with its texts: turns of other channels that have read them begin again. */
  async memoriesGone(of: ChannelId): Promise<void> {
    const { registry, features, background, events, memories } = this.#parts;
    // Tool calls of any channel may quote them.
    events.tell({ type: "log_changed", id: null });
    features.changed();
    // Also of a channel that is not in memory.
    background.changed();
    const others = registry.all().filter(([id]) => id !== of);
    await Promise.all(others.map(async ([, actor]) => actor.changes.memoriesGone()));
    const resting = others.filter(([, actor]) => actor.changes.mayBeBehind);
    const known = new Map(resting.map(([id, { history }]) => [id, history.knownChangesHere]));
    // Otherwise each reads them before its next turn.
    const behind = await memories.behind(known).catch(() => new Set<ChannelId>());
    await Promise.all(
      resting.filter(([id]) => behind.has(id)).map(async ([, { changes }]) => changes.heard(0, null)),
    );
  }

  /** Brings a channel's board up to date. Must not throw. */
  async showBoard(id: ChannelId): Promise<void> {
    const { homes } = this.#parts;
    if (await homes.isElsewhere(id)) homes.wake(id, 0);
    else await this.#with(id, ({ board }) => board.show());
  }

  /** Loads a channel, which then looks for due work. Must not throw. */
  async wake(id: ChannelId): Promise<void> {
    await this.#with(id, (actor) => actor.wake());
  }

  /** Handles another daemon's wake for a channel. A late or foreign one is dropped. Must not throw. */
  async woken(id: ChannelId, seq: Seq): Promise<void> {
    const { homes, renewal } = this.#parts;
    if (await homes.isElsewhere(id)) return this.#hurry(id, seq);
    await this.#with(id, (actor) => actor.look(seq), seq);
    // The poll each second covers a failure.
    if (seq === 0) await renewal.review(id).catch(() => undefined);
  }

  #wakeHome(id: ChannelId, seq: Seq): void {
    this.#parts.homes.wake(id, seq);
    this.#hurry(id, seq);
  }

  /** A message waits in another home's channel whose actor is still being handed on here: speeds that up. */
  #hurry(id: ChannelId, seq: Seq): void {
    if (seq > 0) this.#parts.registry.loaded(id)?.yield();
  }

  /**
   * Runs work on a channel's actor. If it cannot be loaded now, a later load finds the due work.
   * @param seq for the wake if another daemon is the channel's home; default: a change beside the log
   */
  async #with(id: ChannelId, work: (actor: ChannelActor) => void, seq: Seq = 0): Promise<void> {
    const { registry, log } = this.#parts;
    try {
      work(await registry.get(id));
    } catch (error) {
      if (error instanceof NotHomeError) {
        this.#wakeHome(id, seq);
        return;
      }
      // Also after an unknown error: without another message nothing else would wake the channel.
      const willRetry = !registry.isClosed && !(error instanceof NotServedError);
      log.error({ id, why: errorMessage(error), willRetry }, "wake_failed");
      if (willRetry) this.#retry.add(id, isOfInfrastructure(error));
    }
  }
}

const BACKOFF = { fromMs: 500, toMs: 30_000 };

/** Retries failed wakes of channels with due work. */
export class WakeRetry {
  /** Channels that failed because the database was away: one failure ends the round. */
  readonly #away: Wakes;
  /** Channels that failed for an unknown reason: the others do not wait for them. */
  readonly #odd: Wakes;

  /** @param wake must not throw; after a failure it calls {@link add} again */
  constructor(wake: (id: ChannelId) => Promise<void>) {
    this.#away = new Wakes(wake);
    this.#odd = new Wakes(wake);
  }

  /** @param isAway whether the database was away */
  add(id: ChannelId, isAway: boolean): void {
    (isAway ? this.#away : this.#odd).add(id);
  }

  close(): void {
    this.#away.close();
    this.#odd.close();
  }
}

class Wakes {
  readonly #wake: (id: ChannelId) => Promise<void>;
  readonly #channels = new Set<ChannelId>();
  readonly #timer = new BackoffTimer(BACKOFF);
  #isClosed = false;

  constructor(wake: (id: ChannelId) => Promise<void>) {
    this.#wake = wake;
  }

  add(id: ChannelId): void {
    this.#channels.add(id);
    if (!this.#isClosed) this.#timer.schedule(() => void this.#retry());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer.cancel();
  }

  async #retry(): Promise<void> {
    for (const id of Array.from(this.#channels)) {
      this.#channels.delete(id);
      await this.#wake(id);
      // The failure persists and the next attempt is scheduled: the other channels would fail as well.
      if (this.#isClosed || this.#channels.has(id)) return;
    }
    if (this.#channels.size === 0) this.#timer.succeeded();
  }
}
