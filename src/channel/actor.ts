import PQueue from "p-queue";
import type { Entry } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import { dueMessages } from "../core/history.ts";
import { formatAddress, type Seq } from "../core/ids.ts";
import type { ChannelSnapshot } from "../store/history.ts";
import { StaleEpochError } from "../store/errors.ts";
import type { RunningTurn } from "../store/turns.ts";
import { budgetOf } from "../turn/agent.ts";
import type { ActorParts } from "./actor-parts.ts";
import { chooseTurn } from "./due.ts";
import { GuardedHistory } from "./guarded-history.ts";
import { Outbox } from "./outbox.ts";
import { TurnRunner } from "./turn-runner.ts";

/** First and longest wait after a turn that could not be written down, ms. */
const RETRY_FROM_MS = 500;
const RETRY_TO_MS = 30_000;

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
  readonly #runner: TurnRunner;
  /** A turn that began and did not settle. */
  #leftBehind: RunningTurn | null;
  /** A write failed, and nobody knows whether it was committed: the log has to be read again. */
  #isInDoubt = false;
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
    this.#outbox = new Outbox({
      owner,
      address,
      platform,
      deliveries: parts.store.deliveries,
      events,
      onLost,
    });
    this.#runner = new TurnRunner(parts, this.history, this.#outbox);
  }

  /** Takes up answers that are settled and not delivered. Call it before the first wake-up. */
  async recover(): Promise<void> {
    const left = await this.#parts.store.deliveries.pending(this.#parts.owner.channel);
    for (const answer of left) this.#outbox.deliver(answer);
  }

  get lastUsedAt(): number {
    return this.#lastUsedAt;
  }

  /** Nothing is queued, running or on its way: it can be evicted. */
  get isIdle(): boolean {
    const isQuiet =
      this.#noticing === 0 &&
      this.#mailbox.size === 0 &&
      this.#mailbox.pending === 0 &&
      this.#retry === undefined;
    return isQuiet && this.#outbox.isIdle;
  }

  get status(): ActorStatus {
    return {
      turnRunningForMs: this.#runner.runningForMs,
      due: dueMessages(this.history.current).length,
      delivering: !this.#outbox.isIdle,
    };
  }

  /** Takes in an appended entry; a message that wants an answer wakes the actor. */
  notify(entry: Entry): void {
    this.#lastUsedAt = this.#parts.now().getTime();
    const isDue = entry.kind === "user" && entry.addressed;
    if (isDue) this.#runner.accepted(entry.seq);
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
    return this.#runner.interrupt("stop");
  }

  /** A text that the history shows has changed or gone; a running turn that has read it begins again. */
  async changed(seq: Seq, toSeq: Seq | null): Promise<void> {
    if (toSeq !== null) return this.#guard(async () => this.history.catchUp(toSeq));
    await this.#guard(async () => void (await this.history.reload()));
    if (this.#runner.hasRead(seq)) this.#runner.interrupt("redo");
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
    this.#runner.interrupt("close");
    this.#outbox.close();
    await this.idle();
  }

  async #work(): Promise<void> {
    if (this.#isInDoubt) await this.#readAgain();
    while (!this.#isClosed) {
      const turn = await this.#nextTurn();
      if (turn === null) break;
      this.#leftBehind = turn;
      if (await this.#runner.run(turn)) this.#leftBehind = null;
    }
    this.#retryMs = RETRY_FROM_MS;
  }

  /** The turn that was left running, or one that takes what is due; null: nothing is due. */
  async #nextTurn(): Promise<RunningTurn | null> {
    const { store, owner, agent } = this.#parts;
    if (this.#leftBehind !== null) {
      return store.turns.beginAgain(owner, this.#leftBehind);
    }
    const range = chooseTurn(await this.history.snapshot(), budgetOf(agent, agent.config.model));
    return range === null ? null : store.turns.begin(owner, range.fromSeq, range.toSeq);
  }

  /** A connection that was cut in a commit leaves it open what was committed; the log knows. */
  async #readAgain(): Promise<void> {
    const snapshot = await this.history.reload();
    const { owner, address } = this.#parts;
    if (snapshot.channel.epoch !== owner.epoch) {
      throw new StaleEpochError(`epoch ${owner.epoch} of ${formatAddress(address)} is over`);
    }
    this.#leftBehind = snapshot.running;
    await this.recover();
    this.#isInDoubt = false;
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
      this.#isInDoubt = true;
      const channel = formatAddress(this.#parts.address);
      // The stack only: a database error also carries the rows it was about.
      const stack = error instanceof Error ? error.stack : undefined;
      this.#parts.log.error(
        { channel, why: errorMessage(error), stack, retryInMs: this.#retryMs },
        "channel_failed",
      );
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
    this.#parts.events.emit({
      type: "channel_lost",
      channel: formatAddress(this.#parts.address),
      why: error.message,
    });
    this.#parts.onLost();
    void this.close();
  }
}
