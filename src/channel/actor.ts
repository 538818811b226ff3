import PQueue from "p-queue";
import type { ChannelCompactor } from "../compactor/compactor.ts";
import type { Entry } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import { dueMessages } from "../core/history.ts";
import { formatAddress, type Seq } from "../core/ids.ts";
import type { ChannelSnapshot } from "../store/channels/snapshot.ts";
import { StaleEpochError } from "../store/database/errors.ts";
import type { TurnClaim, RunningTurn } from "../store/turns/turn-rows.ts";
import type { Agent } from "../turn/agent.ts";
import type { AskingMessage } from "../turn/first-recall.ts";
import type { ActorParts, ActorStatus, ChannelBoard } from "./channel-context.ts";
import { buildRooms } from "./actor-rooms.ts";
import type { GuardedHistory } from "./guarded-history.ts";
import type { Outbox } from "./delivery/outbox.ts";
import { BackoffTimer } from "../async/backoff.ts";
import { AbsentPlatform } from "../platforms/absent-platform.ts";
import { TextChanges } from "./text-changes.ts";
import { restBefore } from "./turns/turn-attempts.ts";
import type { TurnRunner } from "./turns/turn-runner.ts";
import { steadyNow } from "../async/clock.ts";

const BACKOFF = { fromMs: 500, toMs: 30_000 };

/**
 * The single writer of one channel's turns and answers.
 *
 *   idle → (something is due) turn → settled → delivering → idle
 *   turn → stopped by `/stop`, begun again when its messages change, left in the log by `close`
 *   any → lost, when another daemon takes over the channel
 *
 * The mailbox only carries wake-ups: due work follows from the log, so a wake-up that finds the mailbox full is dropped
 * and nothing is lost.
 */
export class ChannelActor {
  readonly #parts: ActorParts;
  readonly agent: Agent;
  readonly history: GuardedHistory;
  readonly compactor: ChannelCompactor;
  readonly board: ChannelBoard;
  readonly changes: TextChanges;
  readonly #outbox: Outbox;
  readonly #mailbox = new PQueue({ concurrency: 1 });
  readonly #runner: TurnRunner;
  /** A turn that began and did not settle. */
  #leftBehind: RunningTurn | null;
  /** A failed write may have been committed: the log must be read again. */
  #isInDoubt = false;
  /** Entries that are being added to the history; each wakes the actor afterwards. */
  #noticing = 0;
  /** `/stop` came: the running turn ends at once, or the next one if none has begun yet. */
  #isStopWanted = false;
  /** Resets that wait for the turn to end: no other turn begins before them. */
  #resets = 0;
  #isClosed = false;
  #isLeaving = false;
  /** Resolves once a message waits for the actor that replaces this one. */
  readonly #isWanted = Promise.withResolvers<void>();
  readonly #retry = new BackoffTimer(BACKOFF);
  readonly #loadedAt = steadyNow();
  #lastUsedAt = this.#loadedAt;

  constructor(parts: ActorParts, snapshot: ChannelSnapshot) {
    this.#parts = parts;
    const rooms = buildRooms(
      parts,
      snapshot,
      (error) => this.#lose(error),
      (seq) => this.#takeIn(null, false, async () => this.history.catchUp(seq)),
    );
    this.agent = rooms.agent;
    this.history = rooms.history;
    this.#outbox = rooms.outbox;
    this.board = rooms.board;
    this.#runner = rooms.runner;
    this.compactor = rooms.compactor;
    this.changes = new TextChanges({
      ...rooms,
      onChange: () => parts.features.background.changed(),
      channel: formatAddress(parts.address),
      log: parts.log,
      guard: async (work) => this.#guard(work),
    });
    this.#leftBehind = snapshot.running;
  }

  /** Resumes undelivered answers. Call it before the first wake-up. */
  async recover(): Promise<void> {
    await this.#outbox.recover();
    this.board.resume();
  }

  get lastUsedAt(): number {
    return this.#lastUsedAt;
  }

  /** Nothing is queued, running or being delivered: the actor can be evicted. */
  get isIdle(): boolean {
    const isQuiet =
      this.#noticing === 0 &&
      this.#mailbox.size === 0 &&
      this.#mailbox.pending === 0 &&
      !this.#retry.isWaiting;
    return isQuiet && this.#outbox.isIdle && this.compactor.isIdle;
  }

  /** Number of edits and deletions that the running turn knows; null: none runs. */
  get changesKnown(): number | null {
    return this.#runner.running === null ? null : this.history.knownChanges;
  }

  get status(): ActorStatus {
    const due = dueMessages(this.history.current);
    const { takenTo } = this.#runner;
    return {
      turnRunningForMs: this.#runner.runningForMs,
      due: due.length,
      takenTo,
      isAwaiting: this.#runner.isAwaitedBehind(takenTo) || due.some(({ seq }) => seq > takenTo),
      delivering: !this.#outbox.isIdle,
    };
  }

  /**
   * Prepares the turn of a message that is about to be appended, if the channel has nothing else to do.
   * @returns the claim with which the append begins the turn; null: the turn begins later
   */
  expect(message: AskingMessage): TurnClaim | null {
    if (!this.#mayBegin || this.#isInDoubt || this.#noticing > 0 || this.#leftBehind !== null) return null;
    return dueMessages(this.history.current).length === 0 ? this.#runner.expect(message) : null;
  }

  /** Adds an appended entry to the history, with the turn that began with it. A message that wants an answer wakes the actor. */
  notify(entry: Entry, turn: RunningTurn | null): void {
    this.#runner.begun(turn);
    const isDue = entry.kind === "user" && entry.addressed;
    this.#takeIn(isDue ? entry.seq : null, isDue, async () => this.history.observe(entry));
  }

  /** A message is in the log without an announcement: the connection was cut after its commit. */
  wakeAgain(seq: Seq, isDue: boolean): void {
    this.#takeIn(isDue ? seq : null, isDue, async () => this.history.catchUp(seq));
  }

  #takeIn(dueSeq: Seq | null, mayBeDue: boolean, work: () => Promise<void>): void {
    this.#lastUsedAt = steadyNow();
    if (dueSeq !== null) this.#runner.accepted(dueSeq);
    this.#noticing++;
    void this.#guard(work).finally(() => {
      this.#noticing--;
      this.compactor.consider();
      if (mayBeDue) this.wake();
    });
  }

  /**
   * Another daemon has written to the channel: reads new entries up to `seq`, restarts a turn that has read a changed or deleted text,
   * and brings the channel's board up to date. Returns at once.
   */
  look(seq: Seq): void {
    this.#takeIn(null, true, async () => {
      await this.changes.catchUp(seq);
      if (dueMessages(this.history.current).some((one) => one.seq === seq)) this.#runner.accepted(seq);
    });
    this.board.resume();
  }

  /** Its channel is served again: resumes deliveries and due messages. Returns at once. */
  takeUp(): void {
    if (this.#isClosed) return;
    this.#lastUsedAt = steadyNow();
    void this.#guard(async () => this.recover()).finally(() => this.wake());
  }

  /** Looks for due messages, now or after the running turn. */
  wake(): void {
    // Only for a waiting message: a reload wakes all actors, and a running compaction must finish.
    if (this.#isLeaving && this.#isAwaited) this.yield();
    if (this.#isClosed || this.#mailbox.size >= this.#parts.mailboxSize) return;
    // A queued wake-up covers everything that is due when it runs.
    if (this.#mailbox.size > 0) return;
    void this.#mailbox.add(async () => this.#guard(async () => this.#work()));
  }

  /**
   * Ends the turn that runs or is about to begin. The text that people saw of its answer stays.
   * @returns false if no message waits for an answer
   */
  stop(): boolean {
    const isRunning = this.#runner.interrupt("stop");
    const isAwaited = this.#runner.isAwaited || dueMessages(this.history.current).length > 0;
    if (!isRunning && !isAwaited) return false;
    this.#isStopWanted = true;
    // A turn that waits between attempts ends at once.
    if (!isRunning) this.wake();
    return true;
  }

  /** An edit or a deletion may have been committed although its write failed. */
  doubt(): void {
    this.#isInDoubt = true;
    this.#runner.interrupt("redo");
    this.wake();
  }

  /** For `/reset`: ends the turn, then covers all earlier entries without a summary text. */
  async reset(): Promise<void> {
    this.#resets++;
    try {
      this.stop();
      const { lastSeq } = await this.history.snapshot();
      await this.#mailbox.add(async () => this.#reset(lastSeq), { priority: 1 });
    } finally {
      this.#resets--;
      this.wake();
    }
  }

  async #reset(askedAt: Seq): Promise<void> {
    // The turn that `/stop` was meant for has ended.
    this.#isStopWanted = false;
    try {
      if (this.#isInDoubt) await this.#readAgain();
      this.#runner.expectNothing();
      const ended = await this.history.reset(askedAt);
      await this.#parts.features.background.drop(this.#parts.owner.channel);
      await this.compactor.recheck();
      this.#leftBehind = null;
      await this.recover();
      if (ended === null) return;
      const { id, messageIds } = ended;
      this.#runner.tell(id, { state: "stopped", reason: "reset", modelMs: 0, inReplyTo: [...messageIds] });
    } catch (error) {
      if (error instanceof StaleEpochError) this.#lose(error);
      else this.#isInDoubt = true;
      throw error;
    }
  }

  /** Resolves when nothing is queued, running or on its way. */
  async idle(): Promise<void> {
    await this.#mailbox.onIdle();
    await this.#outbox.idle();
  }

  /** Another actor will replace it. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /**
   * Begins no further turn or compaction. Resolves when it can be closed: its turn has ended, and its deliveries and compaction have
   * ended or a message waits for the next actor.
   */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    const finished = this.compactor.finish();
    await this.#mailbox.onIdle();
    if (this.#isAwaited) return;
    await Promise.race([Promise.all([this.#outbox.idle(), finished]), this.#isWanted.promise]);
  }

  /** A message waits for the channel's next home: `leave` no longer waits for the compaction and deliveries. */
  yield(): void {
    this.#isWanted.resolve();
  }

  /** Something is due, running or left behind. */
  get hasWork(): boolean {
    return !this.isIdle || this.#isAwaited;
  }

  get #isAwaited(): boolean {
    if (this.#isInDoubt || this.#noticing > 0 || this.#leftBehind !== null) return true;
    return dueMessages(this.history.current).length > 0;
  }

  /**
   * Stops taking messages and ends the running turn. Its row stays `running`, and undelivered answers stay `pending`: the next
   * owner resumes them.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retry.cancel();
    this.#runner.interrupt("close");
    this.#outbox.close();
    await Promise.all([this.idle(), this.compactor.close()]);
  }

  async #work(): Promise<void> {
    while (this.#mayBegin) {
      if (this.#isInDoubt) await this.#readAgain();
      if (this.#rests()) return;
      const turn = await this.#runner.next(this.#leftBehind);
      if (turn === "unknown") {
        this.#isInDoubt = true;
        continue;
      }
      if (turn === null) {
        this.#runner.forget(this.history.current.settledTo);
        this.#isStopWanted = false;
        break;
      }
      this.#leftBehind = turn;
      await this.#runUntilSettled(turn);
    }
    this.#retry.succeeded();
    this.compactor.consider();
  }

  /** @returns true if a turn that an ended process left running must wait before it is begun again */
  #rests(): boolean {
    const turn = this.#leftBehind;
    if (turn === null || this.#isStopWanted) return false;
    const restMs = restBefore(turn.deaths, this.#parts.restFromMs);
    const leftMs = this.#loadedAt + restMs - steadyNow();
    if (leftMs <= 0) return false;
    const channel = formatAddress(this.#parts.address);
    if (!this.#retry.isWaiting)
      this.#parts.log.warn({ channel, turn: turn.id, deaths: turn.deaths, restMs }, "turn_rests");
    this.#retry.after(leftMs, () => this.wake());
    return true;
  }

  /** Answers nobody while no adapter can deliver to the channel. */
  get #mayBegin(): boolean {
    const canAnswer = !(this.#parts.platform instanceof AbsentPlatform);
    return !this.#isClosed && !this.#isLeaving && this.#resets === 0 && canAnswer;
  }

  /** Runs a turn, and runs it again if its messages change meanwhile. Such a restart is no failed attempt. */
  async #runUntilSettled(turn: RunningTurn): Promise<void> {
    while (this.#mayBegin && !this.#isInDoubt) {
      const isSettled = await this.#runner.run(turn, this.#isStopWanted);
      if (!isSettled) continue;
      this.#leftBehind = null;
      this.#isStopWanted = false;
      return;
    }
  }

  /** Reads the log again after a commit whose outcome is unknown. */
  async #readAgain(): Promise<void> {
    this.#isInDoubt = false; // first: a write that fails meanwhile is in doubt again
    this.#runner.expectNothing();
    const snapshot = await this.history.reload();
    const { owner, store, indexer } = this.#parts;
    const inDoubt = this.#leftBehind;
    if (inDoubt !== null && inDoubt.id !== snapshot.running?.id) {
      // The turn was settled after all; it was the one that `/stop` meant.
      this.#isStopWanted = false;
      const end = await store.turns.outcome(inDoubt.id);
      if (end !== null) this.#runner.tell(inDoubt.id, end);
      indexer.mark(owner.channel);
    }
    this.#leftBehind = snapshot.running;
    await this.recover();
  }

  /** Runs work of this actor and handles its errors: the channel is lost, or the work is tried again after a wait. */
  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof StaleEpochError) {
        this.#lose(error);
        return;
      }
      this.#isInDoubt = true;
      const channel = formatAddress(this.#parts.address);
      // The stack only: a database error also carries the rows it was about.
      const stack = error instanceof Error ? error.stack : undefined;
      this.#parts.log.error(
        { channel, why: errorMessage(error), stack, retryInMs: this.#retry.waitMs },
        "channel_failed",
      );
      if (!this.#isClosed) this.#retry.schedule(() => this.wake());
    }
  }

  #lose(error: StaleEpochError): void {
    if (this.#isClosed) return;
    this.#parts.events.emit({
      type: "channel_lost",
      channel: formatAddress(this.#parts.address),
      why: error.message,
    });
    this.#parts.onLost();
    void this.close();
  }
}
