import { randomUUID } from "node:crypto";
import PQueue from "p-queue";
import type { Entry } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import { dueMessages } from "../core/history.ts";
import { formatAddress, type Seq } from "../core/ids.ts";
import type { ChannelSnapshot } from "../store/history.ts";
import { StaleEpochError } from "../store/errors.ts";
import type { RunningTurn, Settlement } from "../store/turns.ts";
import { budgetOf } from "../turn/agent.ts";
import { runTurn, type TurnResult } from "../turn/turn.ts";
import type { ActorParts } from "./actor-parts.ts";
import { createTurnChannel } from "./actor-turn-channel.ts";
import type { Draft } from "./draft.ts";
import { chooseTurn } from "./due.ts";
import { GuardedHistory } from "./guarded-history.ts";
import { Outbox } from "./outbox.ts";
import { toSettlement } from "./settlement.ts";

/** Starts of one turn before it is settled with a plain sentence. */
const MAX_ATTEMPTS = 3;
/** First and longest wait after a turn that could not be written down, ms. */
const RETRY_FROM_MS = 500;
const RETRY_TO_MS = 30_000;

/** Why a running turn is ended from outside. */
type Interruption = "stop" | "redo" | "close";

export interface ActorStatus {
  readonly turnRunningForMs: number | null;
  readonly due: number;
  readonly delivering: boolean;
}

/**
 * The single writer of one channel's turns and answers.
 *
 *   idle → (something is due) turn → settled → delivering → idle
 *   turn → stopped by `/stop`, begun again when its messages change, left in the log by `close`
 *   any → lost, when another daemon takes the channel
 *
 * The mailbox only carries wake-ups: what is due follows from the log, so a wake-up that finds the mailbox full is
 * dropped and nothing is lost.
 */
export class ChannelActor {
  readonly #parts: ActorParts;
  readonly history: GuardedHistory;
  readonly #outbox: Outbox;
  readonly #mailbox = new PQueue({ concurrency: 1 });
  /** When a message became durable, by this process' clock; for the time that a person waited. */
  readonly #acceptedAt = new Map<Seq, Date>();
  #leftBehind: RunningTurn | null;
  #interrupt: AbortController | null = null;
  #runningTurn: RunningTurn | null = null;
  #turnStartedAt = 0;
  /** Entries that are being taken in: their wake-up is still to come. */
  #noticing = 0;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = RETRY_FROM_MS;
  #lastUsedAt: number;

  constructor(parts: ActorParts, snapshot: ChannelSnapshot) {
    this.#parts = parts;
    this.history = new GuardedHistory(parts.store, parts.owner, snapshot.history);
    this.#leftBehind = snapshot.running;
    this.#lastUsedAt = parts.now().getTime();
    const { owner, address, platform, events } = parts;
    const onLost = (error: StaleEpochError): void => this.#lose(error);
    this.#outbox = new Outbox({ owner, address, platform, deliveries: parts.store.deliveries, events, onLost });
  }

  /** Takes up what an earlier owner left: answers that are not delivered. Call once, before the first wake-up. */
  async recover(): Promise<void> {
    const left = await this.#parts.store.deliveries.pending(this.#parts.owner.channel);
    for (const answer of left) this.#outbox.deliver(answer);
  }

  get lastUsedAt(): number {
    return this.#lastUsedAt;
  }

  /** Nothing is queued, running or on its way: it can be evicted. */
  get isIdle(): boolean {
    const isQuiet = this.#noticing === 0 && this.#mailbox.size === 0 && this.#mailbox.pending === 0 && this.#retry === undefined;
    return isQuiet && this.#outbox.isIdle;
  }

  get status(): ActorStatus {
    const isRunning = this.#interrupt !== null;
    return {
      turnRunningForMs: isRunning ? this.#parts.now().getTime() - this.#turnStartedAt : null,
      due: dueMessages(this.history.current).length,
      delivering: !this.#outbox.isIdle,
    };
  }

  /** Takes in an appended entry; a message that wants an answer wakes the actor. */
  notify(entry: Entry): void {
    this.#lastUsedAt = this.#parts.now().getTime();
    const isDue = entry.kind === "user" && entry.addressed;
    if (isDue) this.#acceptedAt.set(entry.seq, this.#parts.now());
    this.#noticing++;
    void this.#guard(async () => this.history.observe(entry)).finally(() => {
      this.#noticing--;
      if (isDue) this.wake();
    });
  }

  /** Looks for what is due, now or after the turn that runs. */
  wake(): void {
    if (this.#isClosed || this.#mailbox.size >= this.#parts.mailboxSize) return;
    // One waiting wake-up sees all that is due by then.
    if (this.#mailbox.size > 0) return;
    void this.#mailbox.add(async () => this.#guard(async () => this.#work()));
  }

  /** Ends the running turn; what it has said stays. @returns false where none runs */
  stop(): boolean {
    return this.#abort("stop");
  }

  /** A text that the history shows has changed or gone; a running turn that has read it begins again. */
  async changed(seq: Seq, toSeq: Seq | null): Promise<void> {
    if (toSeq !== null) return this.#guard(async () => this.history.catchUp(toSeq));
    await this.#guard(async () => this.history.reload());
    const isRead = seq <= (this.#runningTurn?.toSeq ?? 0);
    if (isRead) this.#abort("redo");
  }

  /** `/reset`: ends the turn, then covers everything up to now without a text. */
  async reset(): Promise<void> {
    this.stop();
    await this.#mailbox.add(async () => this.history.reset());
  }

  /** Resolves when nothing is queued, running or on its way. */
  async idle(): Promise<void> {
    await this.#mailbox.onIdle();
    await this.#outbox.idle();
  }

  /**
   * Takes nothing new, and ends what runs: a turn stays in the log as running, an answer as pending, for the next
   * owner to go on with.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#mailbox.clear();
    this.#abort("close");
    this.#outbox.close();
    await this.idle();
  }

  #abort(reason: Interruption): boolean {
    if (this.#interrupt === null) return false;
    this.#interrupt.abort(reason);
    return true;
  }

  async #work(): Promise<void> {
    while (!this.#isClosed) {
      const turn = await this.#nextTurn();
      if (turn === null) break;
      await this.#runToSettlement(turn);
    }
    this.#retryMs = RETRY_FROM_MS;
  }

  /** The turn that was left running, or one that takes what is due; null: nothing is due. */
  async #nextTurn(): Promise<RunningTurn | null> {
    const { store, owner, agent } = this.#parts;
    if (this.#leftBehind !== null) {
      const again = await store.turns.beginAgain(owner, this.#leftBehind);
      this.#leftBehind = null;
      return again;
    }
    const range = chooseTurn(await this.history.snapshot(), budgetOf(agent, agent.config.model));
    return range === null ? null : store.turns.begin(owner, range.fromSeq, range.toSeq);
  }

  async #runToSettlement(turn: RunningTurn): Promise<void> {
    const { agent, events, now, address } = this.#parts;
    const interrupt = new AbortController();
    this.#interrupt = interrupt;
    this.#turnStartedAt = now().getTime();
    this.#runningTurn = turn;
    const idempotencyKey = randomUUID();
    const asked = await this.#askedBy(turn);
    const draft = this.#outbox.openDraft(turn.id, idempotencyKey, asked.inReplyTo);
    const channel = formatAddress(address);
    const { fromSeq, toSeq, attempts: attempt } = turn;
    events.emit({ type: "turn_started", channel, turn: turn.id, fromSeq, toSeq, attempt });
    try {
      const result = await this.#run(turn, asked, draft, interrupt.signal);
      await draft?.close();
      const interruption = interrupt.signal.reason as Interruption | undefined;
      if (interruption === "close" || interruption === "redo") {
        this.#leftBehind = turn;
        return;
      }
      await this.#settle(turn, asked, result, idempotencyKey);
    } catch (error) {
      await draft?.close();
      // It did not settle: it is begun again, here or by the next owner.
      this.#leftBehind = turn;
      throw error;
    } finally {
      this.#interrupt = null;
      this.#runningTurn = null;
    }
  }

  async #run(turn: RunningTurn, asked: Asked, draft: Draft | null, signal: AbortSignal): Promise<TurnResult> {
    const { agent, now } = this.#parts;
    if (asked.count === 0) return { outcome: { kind: "skipped", reason: "every message was deleted" }, modelMs: 0 };
    if (turn.attempts > MAX_ATTEMPTS) {
      const why = `begun ${MAX_ATTEMPTS} times without an end`;
      return { outcome: { kind: "failed", failure: "gave_up", why }, modelMs: 0 };
    }
    const channel = createTurnChannel({ ...this.#parts, history: this.history, turn, draft });
    return runTurn(agent, channel, turn, { now }, signal);
  }

  async #settle(turn: RunningTurn, asked: Asked, result: TurnResult, idempotencyKey: string): Promise<void> {
    const { agent, events, address, now } = this.#parts;
    const { entry, state, reason } = toSettlement(result.outcome, (kind) => agent.texts.failure({ kind }));
    const texts = entry === null ? [] : this.#outbox.split(entry.text);
    const idempotencyKeys = texts.map((_, part) => (part === 0 ? idempotencyKey : randomUUID()));
    const { modelMs } = result;
    const settlement: Settlement = { state, reason, modelMs, entry, idempotencyKeys };
    const parts = await this.history.settle(turn, settlement, now());
    for (const seq of this.#acceptedAt.keys()) if (seq <= turn.toSeq) this.#acceptedAt.delete(seq);
    const { inReplyTo, acceptedAt } = asked;
    const turnMs = now().getTime() - acceptedAt.getTime();
    if (entry !== null) {
      const kind = entry.kind === "assistant" ? "answer" : "notice";
      this.#outbox.deliver({ turnId: turn.id, text: entry.text, kind, inReplyTo, modelMs, acceptedAt, parts });
    }
    const channel = formatAddress(address);
    events.emit({ type: "turn_settled", channel, turn: turn.id, outcome: state, reason, inReplyTo, turnMs, modelMs });
  }

  /** Whose messages a turn answers. */
  async #askedBy(turn: RunningTurn): Promise<Asked> {
    const history = await this.history.snapshot();
    const messages = dueMessages(history).filter(({ seq }) => seq <= turn.toSeq);
    const times = messages.map(({ seq }) => this.#acceptedAt.get(seq) ?? this.#parts.now());
    const acceptedAt = times.toSorted((a, b) => a.getTime() - b.getTime())[0] ?? this.#parts.now();
    const count = messages.filter(({ deleted }) => !deleted).length;
    return { inReplyTo: messages.map(({ messageId }) => messageId), acceptedAt, count };
  }

  /** Runs work of this actor; what it throws ends here: lost, or tried again after a wait. */
  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof StaleEpochError) {
        this.#lose(error);
        return;
      }
      const channel = formatAddress(this.#parts.address);
      this.#parts.log.error({ channel, why: errorMessage(error), error, retryInMs: this.#retryMs }, "channel_failed");
      if (this.#isClosed || this.#retry !== undefined) return;
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.wake();
      }, this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, RETRY_TO_MS);
    }
  }

  #lose(error: StaleEpochError): void {
    if (this.#isClosed) return;
    this.#parts.events.emit({ type: "channel_lost", channel: formatAddress(this.#parts.address), why: error.message });
    this.#parts.onLost();
    void this.close();
  }
}

interface Asked {
  readonly inReplyTo: string[];
  readonly acceptedAt: Date;
  /** Messages that still have a text. */
  readonly count: number;
}
