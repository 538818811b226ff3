import { unlessAborted } from "../async/deadline.ts";
import { setImmediate as immediately } from "node:timers/promises";
import PQueue from "p-queue";
import type { Entry } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import { type AgentId, type ChannelAddress, type ChannelId, formatAddress, type Seq } from "../core/ids.ts";
import { AbsentPlatform } from "../platforms/absent-platform.ts";
import type { Platform } from "../platforms/platform.ts";
import type { DueChannel } from "../store/channels/partitions.ts";
import { isOfInfrastructure, StalePartitionError } from "../store/database/errors.ts";
import type { Appended } from "../store/log/message-rows.ts";
import type { RunningTurn, TurnClaim } from "../store/turns/turn-rows.ts";
import { ChannelActor } from "./actor.ts";
import { ChannelHomes, NotHomeError } from "./channel-homes.ts";
import { type Guests, NO_GUESTS } from "./guests.ts";
import type { Partition } from "./homes.ts";
import { TakeoverWatch } from "./takeover-watch.ts";
import { WakeRetry } from "./wake-retry.ts";
import { steadyNow } from "../async/clock.ts";
import type { Summariser } from "../compactor/summariser.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Agent } from "../turn/agent.ts";
import type { AskingMessage } from "../turn/first-recall.ts";
import type { SharedParts } from "./channel-context.ts";

/** Channels that are loaded at a time after a start: a locked row holds up no other channel. */
const RESUMED_AT_ONCE = 8;
/** How often unused actors are looked for, ms. */
const SWEEP_MS = 30_000;
/** After so many messages without a reply their channel is loaded, to see how full it is. */
const LOOK_AFTER = 20;
/** Wait before unused actors are evicted once there are too many, ms. */
const EVICT_AFTER_MS = 1000;

/** No adapter of this process delivers to a channel: what is due there is left alone. */
class NotServedError extends Error {}

/**
 * The actors in memory: one a channel, loaded from the log when needed and evicted when unused. A channel without an actor
 * costs one number, its epoch.
 */
export class ChannelRegistry implements AsyncDisposable {
  readonly #parts: RegistryParts;
  readonly #actors = new Map<ChannelId, Promise<ChannelActor>>();
  readonly #ready = new Map<ChannelId, ChannelActor>();
  /** What each actor was made of. */
  readonly #made = new WeakMap<ChannelActor, Made>();
  /** Each resolves when an actor that had to make way has ended. */
  readonly #replacing = new Set<Promise<void>>();
  /** Channels that had something to do while their actor made way: the next one is loaded for it. */
  readonly #owed = new Set<ChannelId>();
  /** Actors that are being closed: the next one is loaded when they are. */
  readonly #closing = new Map<ChannelId, Promise<void>>();
  readonly #epochs = new Map<ChannelId, number>();
  /** Of which channels this daemon is home. */
  readonly homes: ChannelHomes;
  /** Channels that are taken up, or wait for it. */
  readonly #takingUp = new Set<ChannelId>();
  readonly #takeUps = new PQueue({ concurrency: RESUMED_AT_ONCE });
  /** Loaded only to be summarised: no adapter can deliver to their channels. */
  readonly #visited = new Set<ChannelActor>();
  /** Messages that were only listened to, of channels that are not in memory. */
  readonly #heard = new Map<ChannelId, number>();
  readonly #sweep: NodeJS.Timeout;
  readonly #wakeRetry = new WakeRetry(async (id) => this.#wake(id));
  readonly #lost: TakeoverWatch;
  #eviction: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    const { store, log, lostLookMs, homes = new ChannelHomes() } = parts;
    this.homes = homes;
    this.#lost = new TakeoverWatch({
      unfinished: async (id) => (this.#actors.has(id) ? null : store.channels.unfinished(id)),
      take: async (id) => this.#wake(id),
      log,
      ...(lostLookMs !== undefined && { lookFromMs: lostLookMs }),
    });
    this.#sweep = setInterval(() => {
      this.evictIdle();
    }, SWEEP_MS);
    this.#sweep.unref();
  }

  /** Actors in memory. */
  get size(): number {
    return this.#actors.size;
  }

  /** The actor, if it is in memory. */
  loaded(id: ChannelId): ChannelActor | undefined {
    return this.#ready.get(id);
  }

  /**
   * The channel's actor, loaded from the log if it is not in memory. Use it at once: it may be evicted at any later tick.
   * @throws NotHomeError if another daemon is home of the channel, WeirError if the log could not be read
   */
  async get(id: ChannelId): Promise<ChannelActor> {
    if (this.#isClosed) throw new Error("the registry is closed");
    const known = this.#actors.get(id);
    if (known !== undefined) return known;
    return this.#keep(id, this.#load(id, undefined));
  }

  /**
   * Works on a channel also if no adapter can deliver to it: the channel is summarised, and nobody is answered.
   * @throws NotHomeError if another daemon is home of the channel, WeirError if the log could not be read
   */
  async visit<Result>(id: ChannelId, work: (actor: ChannelActor) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new Error("the registry is closed");
    const actor = await (this.#actors.get(id) ?? this.#keep(id, this.#load(id, new AbsentPlatform())));
    try {
      return await work(actor);
    } finally {
      if (this.#visited.delete(actor)) {
        this.#forget(id);
        await actor.close();
      }
    }
  }

  /** Resolves when no channel that is in memory has a compaction due, waiting or under way. */
  async compactionsIdle(): Promise<void> {
    const actors = [...this.#ready.values()];
    // An entry that is being added may make a compaction due.
    await Promise.all(actors.map(async (actor) => actor.idle()));
    await Promise.all(actors.map(async ({ compactor }) => compactor.idle()));
  }

  async #keep(id: ChannelId, loading: Promise<ChannelActor>): Promise<ChannelActor> {
    this.#actors.set(id, loading);
    try {
      return await loading;
    } catch (error) {
      // It may have been dropped meanwhile, and another one be loaded.
      if (this.#actors.get(id) === loading) this.#actors.delete(id);
      throw error;
    }
  }

  /** Ends a subagent of a channel at once. @returns whether it was at work */
  async stopSubagent(id: ChannelId, number: number): Promise<boolean> {
    return (await this.#parts.subagents?.stop(id, number)) ?? false;
  }

  /** The channel's actor if it is in memory or being loaded. */
  async inMemory(id: ChannelId): Promise<ChannelActor | undefined> {
    return this.#actors.get(id)?.catch(() => undefined);
  }

  /**
   * A text of a channel was edited or taken back: tells its actor, here or at the channel's home. Must not throw where the channel is
   * another daemon's.
   */
  async changed(id: ChannelId, seq: Seq, notedSeq: Seq | null): Promise<void> {
    await (await this.inMemory(id))?.changed(seq, notedSeq);
    if (await this.#isElsewhere(id)) this.homes.wake(id, notedSeq ?? seq);
  }

  /** An edit or a deletion in a channel may have been committed although its write failed. Must not throw. */
  async doubt(id: ChannelId): Promise<void> {
    (await this.inMemory(id))?.doubt();
    if (await this.#isElsewhere(id)) this.homes.wake(id, 0);
  }

  /** Memories of a channel may have gone with texts of it: turns of other channels that were shown one begin again. */
  async memoriesGone(of: ChannelId): Promise<void> {
    this.#parts.onApprovals?.(of, "taken_back");
    const others = [...this.#ready].filter(([id]) => id !== of);
    await Promise.all(others.map(async ([, actor]) => actor.memoriesGone()));
  }

  /**
   * Prepares the turn of a message that is about to be appended, if its channel is in memory.
   * @returns the claim with which the append begins the turn; null: the turn begins later
   */
  expect(id: ChannelId, message: AskingMessage): TurnClaim | null {
    return this.homes.holds(id) ? (this.#ready.get(id)?.expect(message) ?? null) : null;
  }

  /**
   * Tells a channel of an appended entry, and of the turn that began with it. A channel without a due message is not loaded for
   * each entry. The home of another daemon's channel is woken instead. Must not throw.
   */
  async notify(id: ChannelId, entry: Entry, turn: RunningTurn | null = null): Promise<void> {
    this.#parts.indexer.mark(id);
    const isDue = entry.kind === "user" && entry.addressed;
    const isElsewhere = await this.#isElsewhere(id);
    // In the channel of another home nobody here knows whether its actor is in memory.
    if (!isDue && (isElsewhere || !this.#actors.has(id)) && !this.#isTimeToLook(id)) return;
    if (isElsewhere) this.#wakeHome(id, entry.seq);
    else await this.#with(id, (actor) => actor.notify(entry, turn), entry.seq);
  }

  /** Tells a channel of a message that was appended, or stands in its log already and is still due. Returns at once. */
  announce(id: ChannelId, appended: Appended): void {
    if (!appended.duplicate) void this.notify(id, appended.entry, appended.turn);
    else if (appended.due) void this.remind(id, appended.seq);
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
    this.#parts.indexer.mark(id);
    if (await this.#isElsewhere(id)) this.#wakeHome(id, seq);
    else await this.#with(id, (actor) => actor.remind(seq, true), seq);
  }

  /** Tells a channel in memory of a message that needs no answer. Must not throw. */
  async mention(id: ChannelId, seq: Seq): Promise<void> {
    this.#parts.indexer.mark(id);
    (await this.inMemory(id))?.remind(seq, false);
  }

  /**
   * Takes up everything that the log says is due: after a start, and where channels are served that were not.
   * @param rawEntries so many entries without a summary are due for a compaction
   * @returns how many channels had something to do
   */
  async resume(platforms: readonly string[], rawEntries: number): Promise<number> {
    const { store } = this.#parts;
    const { held } = this.homes;
    const here = platforms.filter((platform) => this.homes.isHere(platform));
    const spread = platforms.filter((platform) => !here.includes(platform));
    const rows = await store.channels.withWork(here, rawEntries);
    if (spread.length > 0) rows.push(...(await store.channels.withWorkIn(held, spread, rawEntries)));
    await this.takeUp(rows);
    return rows.filter(({ address }) => this.#parts.platformOf(address) !== undefined).length;
  }

  /** Takes up what is due in channels that are served, a few at a time, in this order. Must not throw. */
  async takeUp(channels: readonly Pick<ChannelRow, "id" | "address">[]): Promise<void> {
    const wanted = channels.filter(
      ({ id, address }) => this.#parts.platformOf(address) !== undefined && !this.#takingUp.has(id),
    );
    for (const { id } of wanted) this.#takingUp.add(id);
    await this.#takeUps.addAll(
      wanted.map(({ id }) => async () => {
        this.#takingUp.delete(id);
        if (!this.#isClosed) await this.#takeUp(id);
      }),
    );
  }

  /** Messages of these have waited for longer than a wake takes: wakes those that do not know of them. Returns at once. */
  remindDue(due: readonly DueChannel[]): void {
    const unknown = due.filter(({ id, address, seq }) => {
      this.homes.place(id, address);
      const actor = this.#ready.get(id);
      if (actor !== undefined && actor.history.current.lastSeq < seq) actor.look(seq);
      // One that is being loaded reads them by itself.
      return !this.#actors.has(id);
    });
    void this.takeUp(unknown);
  }

  /** A wake came for a channel. One that has come too late, or from elsewhere, is dropped. Must not throw. */
  async woken(id: ChannelId, seq: Seq): Promise<void> {
    if (await this.#isElsewhere(id)) return this.#hurry(id, seq);
    await this.#with(id, (actor) => actor.look(seq), seq);
    // The look each second does it, too.
    if (seq === 0) await this.review([id]).catch(() => undefined);
  }

  /** Another daemon is home of a channel, or nobody knows who is. Must not throw. */
  async #isElsewhere(id: ChannelId): Promise<boolean> {
    try {
      return !(await this.homes.isHome(id));
    } catch (error) {
      this.#parts.log.warn({ id, why: errorMessage(error) }, "channel_home_unknown");
      return true;
    }
  }

  #wakeHome(id: ChannelId, seq: Seq): void {
    this.homes.wake(id, seq);
    this.#hurry(id, seq);
  }

  /** A message waits in the channel of another home, which waits for an actor that is being handed on. */
  #hurry(id: ChannelId, seq: Seq): void {
    if (seq > 0) this.#ready.get(id)?.yield();
  }

  /**
   * This daemon is home of these partitions no more: their actors begin no turn. Resolves when what runs has ended, or was ended at the
   * deadline, and the actors are gone. Must not throw.
   */
  async handOn(partitions: ReadonlySet<Partition>, deadline: AbortSignal): Promise<void> {
    const leaving = this.#actorsIn(partitions).map(async ([id, loading]) => {
      const actor = await loading.catch(() => undefined);
      if (actor !== undefined) await unlessAborted(actor.leave(), deadline);
      // Whoever was given this actor just now uses it first.
      await immediately();
      await this.#drop(id, loading);
    });
    // A turn that waits for one is told that it goes on.
    await this.#parts.subagents?.leave((id) => this.homes.isIn(id, partitions));
    await Promise.all(leaving);
    this.#forgetEpochs(partitions);
  }

  /** This daemon has lost these partitions: their actors end at once. Returns at once. */
  drop(partitions: ReadonlySet<Partition>): void {
    for (const [id, loading] of this.#actorsIn(partitions)) void this.#drop(id, loading);
    void this.#parts.subagents?.leave((id) => this.homes.isIn(id, partitions));
    this.#forgetEpochs(partitions);
  }

  #actorsIn(partitions: ReadonlySet<Partition>): [ChannelId, Promise<ChannelActor>][] {
    return [...this.#actors].filter(([id]) => this.homes.isIn(id, partitions));
  }

  /** What is known of a channel is true for as long as it is ours. */
  #forgetEpochs(partitions: ReadonlySet<Partition>): void {
    for (const id of this.#epochs.keys()) if (this.homes.isIn(id, partitions)) this.#epochs.delete(id);
  }

  /** Must not throw. */
  async #drop(id: ChannelId, loading: Promise<ChannelActor>): Promise<void> {
    if (this.#actors.get(id) === loading) this.#forget(id);
    await this.#close(id, loading);
    // Its turn may have begun one in the end.
    await this.#parts.subagents?.leave((one) => one === id && !this.#actors.has(id));
  }

  /** Closes an actor: the next one is loaded when it is closed. Must not throw. */
  async #close(id: ChannelId, loading: Promise<ChannelActor>): Promise<void> {
    const closed = this.#closeNow(id, loading).catch((error: unknown) => {
      this.#parts.log.error({ id, why: errorMessage(error) }, "channel_not_closed");
    });
    this.#closing.set(id, closed);
    await closed;
    if (this.#closing.get(id) === closed) this.#closing.delete(id);
  }

  async #closeNow(id: ChannelId, loading: Promise<ChannelActor>): Promise<void> {
    // One that could not be loaded has nothing to close.
    const actor = await loading.catch(() => undefined);
    if (this.#ready.get(id) === actor) this.#ready.delete(id);
    await actor?.close();
  }

  /**
   * Who answers may be another by now. An actor of which that is so ends: the turn that runs goes on to its end with what it began
   * with, and the next one is the next actor's. Resolves when nobody is at work any more who began before: actors that make way, since
   * whatever reload, and subagents. Must not throw.
   */
  async renew(): Promise<void> {
    for (const [id, actor] of this.#ready) if (this.#isOutdated(actor)) this.#replace(id, actor);
    // One that is being loaded finds out by itself that it is outdated.
    await Promise.allSettled(this.#actors.values());
    await Promise.all(this.#replacing);
    // Last: a turn that has just ended may have begun some.
    await this.#parts.subagents?.atWork();
  }

  /** A channel is another agent's by its binding: its actor, if there is one, makes way for that agent's. Returns at once. */
  follow(id: ChannelId, agent: AgentId): void {
    const actor = this.#ready.get(id);
    if (actor === undefined || actor.isLeaving || this.#visited.has(actor)) return;
    if (actor.agent.config.id === agent) return;
    this.#replace(id, actor);
  }

  /**
   * Another model was chosen for a channel: its actor makes way for one that answers with it, here, also where another daemon had the
   * channel; in a cluster, at its home. Returns once it is under way.
   * @param row as it is now
   * @throws WeirError if the log could not be read
   */
  async restaff(row: ChannelRow): Promise<void> {
    if (await this.#isElsewhere(row.id)) return this.homes.wake(row.id, 0);
    let actor: ChannelActor;
    try {
      actor = await this.get(row.id);
    } catch (error) {
      if (!(error instanceof NotHomeError)) throw error;
      // Its next home reads the row.
      return this.homes.wake(row.id, 0);
    }
    this.#noteRow(actor, row);
  }

  /** A channel's row reads otherwise now: its actor makes way if another answers by it. Returns at once. */
  #noteRow(actor: ChannelActor, row: ChannelRow): void {
    const made = this.#made.get(actor);
    if (made !== undefined) this.#made.set(actor, { ...made, channel: row });
    if (!this.#isOutdated(actor)) return;
    // The next one is loaded also where nothing is due: its window may be too full by now.
    this.#owed.add(row.id);
    this.#replace(row.id, actor);
  }

  /**
   * Looks at what other daemons have changed in channels that are in memory, and does what a wake would have had done: another agent or
   * model answers, or a running turn has read what is gone.
   * @param ids default: all of them
   * @throws WeirError if that cannot be read
   */
  async review(ids: Iterable<ChannelId> = this.#ready.keys()): Promise<void> {
    const known = [...ids].flatMap((id) => {
      const actor = this.#ready.get(id);
      const made = actor && this.#made.get(actor);
      return made === undefined ? [] : { channel: made.channel, changes: actor?.changesKnown ?? null };
    });
    if (known.length === 0) return;
    for (const row of await this.#parts.store.partitions.changed(known)) {
      const actor = this.#ready.get(row.id);
      if (actor === undefined || !this.#made.has(actor)) continue;
      this.#noteRow(actor, row);
      actor.look(0);
    }
  }

  #isOutdated(actor: ChannelActor): boolean {
    const made = this.#made.get(actor);
    if (made === undefined || actor.isLeaving) return false;
    const { channel, staffed, streams } = made;
    return this.#parts.agentOf(channel) !== staffed || this.#parts.streams(channel) !== streams;
  }

  /** Returns at once; it begins nothing any more. */
  #replace(id: ChannelId, actor: ChannelActor): void {
    const replaced = this.#makeWay(id, actor).finally(() => this.#replacing.delete(replaced));
    this.#replacing.add(replaced);
  }

  /** Must not throw. */
  async #makeWay(id: ChannelId, actor: ChannelActor): Promise<void> {
    await actor.leave();
    // Whoever was given this actor just now uses it first.
    await immediately();
    const isOwed = this.#owed.delete(id);
    // Evicted, lost or drained meanwhile.
    if (this.#isClosed || this.#ready.get(id) !== actor) return;
    const hasWork = actor.hasWork || isOwed;
    this.#forget(id);
    await this.#close(id, Promise.resolve(actor));
    if (hasWork && !this.#isClosed) await this.#wake(id);
  }

  /** Has a channel show its approvals as they are. Must not throw. */
  async showQuestions(id: ChannelId): Promise<void> {
    if (await this.#isElsewhere(id)) this.homes.wake(id, 0);
    else await this.#with(id, ({ questions }) => questions.show());
  }

  async #takeUp(id: ChannelId): Promise<void> {
    const loaded = this.#ready.get(id);
    // One that is loaded now reads what is undelivered by itself.
    if (loaded === undefined) return this.#wake(id);
    if (loaded.isLeaving) this.#owed.add(id);
    loaded.takeUp();
  }

  async #wake(id: ChannelId): Promise<void> {
    await this.#with(id, (actor) => actor.wake());
  }

  /**
   * Loads and wakes an actor. If that fails, the actor finds what is due when it is loaded later.
   * @param seq what it is about, if the channel turns out to be another daemon's; default: something beside the log
   */
  async #with(id: ChannelId, work: (actor: ChannelActor) => void, seq: Seq = 0): Promise<void> {
    try {
      work(await this.get(id));
    } catch (error) {
      if (error instanceof NotHomeError) {
        this.#wakeHome(id, seq);
        return;
      }
      // Also after an unknown error: without a next message nobody else would wake the channel.
      const willRetry = !this.#isClosed && !(error instanceof NotServedError);
      this.#parts.log.error({ id, why: errorMessage(error), willRetry }, "wake_failed");
      if (willRetry) this.#wakeRetry.add(id, isOfInfrastructure(error));
    }
  }

  /** Evicts actors that were unused for long, and the longest unused ones above the bound. */
  evictIdle(): void {
    const now = steadyNow();
    const idle = [...this.#ready.entries()]
      .filter(([, actor]) => actor.isIdle && !actor.isLeaving)
      .toSorted(([, a], [, b]) => a.lastUsedAt - b.lastUsedAt);
    let excess = this.#actors.size - this.#parts.maxLoadedChannels;
    for (const [id, actor] of idle) {
      if (excess <= 0 && now - actor.lastUsedAt < this.#parts.idleEvictMs) break;
      excess--;
      this.#forget(id);
      void actor.close();
    }
  }

  /** Evicts soon after a burst of channels, once for many of them. */
  #evictSoon(): void {
    this.#eviction ??= setTimeout(() => {
      this.#eviction = undefined;
      this.evictIdle();
    }, EVICT_AFTER_MS).unref();
  }

  /** Waits for running work until the signal, then ends it. The log keeps what is left. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    clearTimeout(this.#eviction);
    this.#wakeRetry.close();
    this.#lost.close();
    // Whoever waits for one is told that it goes on.
    await this.#parts.subagents?.[Symbol.asyncDispose]();
    const actors = (await Promise.allSettled(this.#actors.values())).flatMap((result) =>
      result.status === "fulfilled" ? [result.value] : [],
    );
    await unlessAborted(Promise.all(actors.map(async (actor) => actor.idle())), deadline);
    await Promise.all(actors.map(async (actor) => actor.close()));
    await Promise.all(this.#closing.values());
    this.#actors.clear();
    this.#ready.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(AbortSignal.abort());
  }

  #forget(id: ChannelId): void {
    this.#actors.delete(id);
    this.#ready.delete(id);
  }

  /** @throws NotHomeError if another daemon has taken the channel's partition, whether we have heard of it or not */
  async #take(id: ChannelId, partitionEpoch: number | null): Promise<number> {
    try {
      return await this.#parts.store.channels.take(id, partitionEpoch);
    } catch (error) {
      if (!(error instanceof StalePartitionError)) throw error;
      this.drop(this.homes.releaseOf(id, partitionEpoch));
      throw new NotHomeError(error.message, { cause: error });
    }
  }

  /** @param absent stands in if no adapter can deliver to the channel; undefined: such a channel is not loaded */
  async #load(id: ChannelId, absent: Platform | undefined): Promise<ChannelActor> {
    const { store, events } = this.#parts;
    // Two would deliver the same answer.
    await this.#closing.get(id);
    const startedAt = steadyNow();
    const partitionEpoch = await this.homes.epochOf(id);
    const known = this.#epochs.get(id);
    let epoch = known ?? (await this.#take(id, partitionEpoch));
    this.#epochs.set(id, epoch);
    let snapshot = await store.load(id);
    if (known !== undefined && snapshot.channel.epoch !== known) {
      // Another daemon has taken the channel since it was last used here.
      epoch = await this.#take(id, partitionEpoch);
      this.#epochs.set(id, epoch);
      snapshot = await store.load(id);
    }
    const { address, kind, workspace, place } = snapshot.channel;
    const platform = this.#parts.platformOf(address) ?? absent;
    if (platform === undefined) throw new NotServedError(`no adapter speaks for ${formatAddress(address)}`);
    const onLost = (): void => {
      this.#epochs.delete(id);
      this.#forget(id);
      this.#lost.add(id);
    };
    const staffed = this.#parts.agentOf(snapshot.channel);
    const streams = this.#parts.streams(snapshot.channel);
    const parts = {
      ...this.#parts,
      owner: { channel: id, epoch },
      address,
      kind,
      workspace,
      place,
      guests: NO_GUESTS,
      ...staffed,
      platform,
      streams,
      onLost,
    };
    const actor = new ChannelActor(parts, snapshot);
    const isVisited = platform === absent;
    if (isVisited) this.#visited.add(actor);
    else {
      this.#made.set(actor, { channel: snapshot.channel, staffed, streams });
      await actor.recover();
    }
    if (!this.homes.holds(id)) {
      await actor.close();
      throw new NotHomeError(`channel ${id} was handed on while it was loaded`);
    }
    this.#ready.set(id, actor);
    // Who answers may have changed while it was loaded.
    if (this.#isOutdated(actor)) this.#replace(id, actor);
    const ms = Math.round(steadyNow() - startedAt);
    events.emit({
      type: "channel_loaded",
      channel: formatAddress(address),
      entries: snapshot.history.entries.length,
      ms,
    });
    if (!isVisited && snapshot.hasSubagents) this.#parts.subagents?.takeUp(parts, snapshot.history);
    if (!isVisited) actor.wake();
    if (this.#actors.size > this.#parts.maxLoadedChannels) this.#evictSoon();
    return actor;
  }
}

/** What an actor was made of, by who answers its channel. */
interface Made {
  readonly channel: ChannelRow;
  readonly staffed: ReturnType<RegistryParts["agentOf"]>;
  readonly streams: boolean;
}

export interface RegistryParts extends SharedParts {
  /** Default: this daemon is home of all channels. */
  readonly homes?: ChannelHomes;
  /** Actors in memory before the longest unused ones go. */
  readonly maxLoadedChannels: number;
  /** Time unused after which an actor goes, ms. */
  readonly idleEvictMs: number;
  /** Time after which a channel that was lost is looked at, ms; default: a minute. */
  readonly lostLookMs?: number;
  /** The agent that answers, and what writes its summaries, by its id in the channel's row: the same object for as long as it is so. */
  agentOf(channel: ChannelRow): {
    readonly agent: Agent;
    readonly compactorAgent: Summariser;
    /** Default: no other agent answers there. */
    readonly guests?: Guests;
  };
  /** Whether a channel's answers are shown while they are written. */
  streams(channel: ChannelRow): boolean;
  /** The adapter that can deliver to a channel now; undefined: there is none. */
  platformOf(address: ChannelAddress): Platform | undefined;
}
