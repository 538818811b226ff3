import type { Logger } from "pino";
import type { Entry } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import type { Indexer } from "../memory/indexer.ts";
import { isOfInfrastructure } from "../store/database/errors.ts";
import type { Appended } from "../store/log/message-rows.ts";
import type { RunningTurn, TurnClaim } from "../store/turns/turn-rows.ts";
import type { AskingMessage } from "../turn/first-recall.ts";
import type { ChannelActor } from "./actor.ts";
import { NotServedError } from "./loader.ts";
import type { SharedParts } from "./channel-context.ts";
import { type ChannelHomes, NotHomeError } from "./homes/channel-homes.ts";
import type { ChannelRegistry } from "./registry.ts";
import type { Renewal } from "./renewal.ts";
import { WakeRetry } from "./wake-retry.ts";

/** After so many messages without a reply their channel is loaded, to see how full it is. */
const LOOK_AFTER = 20;

export interface WakerParts extends Pick<SharedParts, "onApprovals" | "subagents"> {
  readonly registry: ChannelRegistry;
  readonly renewal: Pick<Renewal, "review">;
  readonly homes: ChannelHomes;
  readonly indexer: Pick<Indexer, "mark">;
  readonly log: Logger;
}

/**
 * Tells channels what has come into their logs, or has changed there: their actors here, or their homes. What is due follows from the
 * log, so what is told may be lost, doubled or late.
 */
export class Waker {
  readonly #parts: WakerParts;
  /** Messages that were only listened to, of channels that are not in memory. */
  readonly #heard = new Map<ChannelId, number>();
  readonly #retry = new WakeRetry(async (id) => this.wake(id));

  constructor(parts: WakerParts) {
    this.#parts = parts;
  }

  /** Tries no wake again from now on. */
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

  /** Tells a channel of a message that was appended, or stands in its log already and is still due. Returns at once. */
  announce(id: ChannelId, appended: Appended): void {
    if (!appended.duplicate) void this.notify(id, appended.entry, appended.turn);
    else if (appended.due) void this.remind(id, appended.seq);
  }

  /**
   * Tells a channel of an appended entry, and of the turn that began with it. A channel without a due message is not loaded for
   * each entry. The home of another daemon's channel is woken instead. Must not throw.
   */
  async notify(id: ChannelId, entry: Entry, turn: RunningTurn | null = null): Promise<void> {
    const { registry, homes, indexer } = this.#parts;
    indexer.mark(id);
    const isDue = entry.kind === "user" && entry.addressed;
    const isElsewhere = await homes.isElsewhere(id);
    // In the channel of another home nobody here knows whether its actor is in memory.
    if (!isDue && (isElsewhere || !registry.has(id)) && !this.#isTimeToLook(id)) return;
    if (isElsewhere) this.#wakeHome(id, entry.seq);
    else await this.#with(id, (actor) => actor.notify(entry, turn), entry.seq);
  }

  /** A channel in which nobody is answered must compact, too: it is loaded now and then to see how full it is. */
  #isTimeToLook(id: ChannelId): boolean {
    const heard = (this.#heard.get(id) ?? 0) + 1;
    if (heard < LOOK_AFTER) {
      this.#heard.set(id, heard);
      return false;
    }
    this.#heard.delete(id);
    return true;
  }

  /** Tells a channel of a due message that an earlier delivery appended. Must not throw. */
  async remind(id: ChannelId, seq: Seq): Promise<void> {
    const { homes, indexer } = this.#parts;
    indexer.mark(id);
    if (await homes.isElsewhere(id)) this.#wakeHome(id, seq);
    else await this.#with(id, (actor) => actor.remind(seq, true), seq);
  }

  /** Tells a channel in memory of a message that needs no answer. Must not throw. */
  async mention(id: ChannelId, seq: Seq): Promise<void> {
    const { registry, indexer } = this.#parts;
    indexer.mark(id);
    (await registry.inMemory(id))?.remind(seq, false);
  }

  /**
   * A text of a channel was edited or taken back: tells its actor, here or at the channel's home. Must not throw where the channel is
   * another daemon's.
   */
  async changed(id: ChannelId, seq: Seq, notedSeq: Seq | null): Promise<void> {
    const { registry, homes } = this.#parts;
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

  /** Memories and notes of a channel may have gone with texts of it: turns of other channels that were shown them begin again. */
  async memoriesGone(of: ChannelId): Promise<void> {
    const { registry, onApprovals, subagents } = this.#parts;
    onApprovals?.(of, "taken_back");
    // Also of a channel that is not in memory.
    subagents?.changed();
    const others = registry.all().filter(([id]) => id !== of);
    await Promise.all(others.map(async ([, actor]) => actor.changes.memoriesGone()));
  }

  /** Has a channel show its approvals as they are. Must not throw. */
  async showQuestions(id: ChannelId): Promise<void> {
    const { homes } = this.#parts;
    if (await homes.isElsewhere(id)) homes.wake(id, 0);
    else await this.#with(id, ({ questions }) => questions.show());
  }

  /** Loads a channel and has it look for what is due. Must not throw. */
  async wake(id: ChannelId): Promise<void> {
    await this.#with(id, (actor) => actor.wake());
  }

  /** A wake of another daemon came for a channel. One that has come too late, or from elsewhere, is dropped. Must not throw. */
  async woken(id: ChannelId, seq: Seq): Promise<void> {
    const { homes, renewal } = this.#parts;
    if (await homes.isElsewhere(id)) return this.#hurry(id, seq);
    await this.#with(id, (actor) => actor.look(seq), seq);
    // The look each second does it, too.
    if (seq === 0) await renewal.review(id).catch(() => undefined);
  }

  #wakeHome(id: ChannelId, seq: Seq): void {
    this.#parts.homes.wake(id, seq);
    this.#hurry(id, seq);
  }

  /** A message waits in the channel of another home, which waits for an actor that is being handed on. */
  #hurry(id: ChannelId, seq: Seq): void {
    if (seq > 0) this.#parts.registry.loaded(id)?.yield();
  }

  /**
   * Does something with a channel's actor. If it cannot be loaded, it finds what is due when it is loaded later.
   * @param seq what it is about, if the channel turns out to be another daemon's; default: something beside the log
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
      // Also after an unknown error: without a next message nobody else would wake the channel.
      const willRetry = !registry.isClosed && !(error instanceof NotServedError);
      log.error({ id, why: errorMessage(error), willRetry }, "wake_failed");
      if (willRetry) this.#retry.add(id, isOfInfrastructure(error));
    }
  }
}
