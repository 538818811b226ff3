import { randomUUID } from "node:crypto";
import { dueMessages } from "../core/history.ts";
import { formatAddress, type Seq } from "../core/ids.ts";
import type { RunningTurn, Settlement } from "../store/turns.ts";
import { runTurn, type TurnResult } from "../turn/turn.ts";
import type { ActorParts } from "./actor-parts.ts";
import { createTurnChannel } from "./actor-turn-channel.ts";
import type { Draft } from "./draft.ts";
import type { GuardedHistory } from "./guarded-history.ts";
import type { Outbox } from "./outbox.ts";
import { toSettlement } from "./settlement.ts";

/** Starts of one turn before it is settled with a plain sentence. */
const MAX_ATTEMPTS = 3;

const STOP = "stop";
/** Why a running turn is ended from outside: `/stop`; its messages changed; the actor goes. */
export type Interruption = typeof STOP | "redo" | "close";

/** Whose messages a turn answers. */
interface Asked {
  readonly inReplyTo: string[];
  readonly acceptedAt: Date;
  /** Messages that still have a text. */
  readonly count: number;
}

/** Runs one turn of a channel at a time: whom it answers, its draft, its settlement. */
export class TurnRunner {
  readonly #parts: ActorParts;
  readonly #history: GuardedHistory;
  readonly #outbox: Outbox;
  /** When a message became durable, by this process' clock; for the time that a person waited. */
  readonly #acceptedAt = new Map<Seq, Date>();
  #running: { turn: RunningTurn; interrupt: AbortController; startedAt: number } | null = null;

  constructor(parts: ActorParts, history: GuardedHistory, outbox: Outbox) {
    this.#parts = parts;
    this.#history = history;
    this.#outbox = outbox;
  }

  /** Null: no turn runs. */
  get runningForMs(): number | null {
    return this.#running && this.#parts.now().getTime() - this.#running.startedAt;
  }

  /** A message became durable just now. */
  accepted(seq: Seq): void {
    this.#acceptedAt.set(seq, this.#parts.now());
  }

  /** The running turn has shown this entry to its model, or is about to. */
  hasRead(seq: Seq): boolean {
    return seq <= (this.#running?.turn.toSeq ?? 0);
  }

  /** Ends the running turn. @returns false where none runs */
  interrupt(reason: Interruption): boolean {
    this.#running?.interrupt.abort(reason);
    return this.#running !== null;
  }

  /**
   * Runs a turn to its settlement, and hands its answer to the outbox.
   * @returns false where it did not settle: it was interrupted to be begun again, here or by the next owner
   * @throws where the log could not be written: whether the turn is settled is in doubt
   */
  async run(turn: RunningTurn): Promise<boolean> {
    const { events, now, address } = this.#parts;
    const interrupt = new AbortController();
    this.#running = { turn, interrupt, startedAt: now().getTime() };
    const idempotencyKey = randomUUID();
    const asked = await this.#askedBy(turn);
    const draft = this.#outbox.openDraft(turn.id, idempotencyKey, asked.inReplyTo);
    const channel = formatAddress(address);
    const { fromSeq, toSeq, attempts: attempt } = turn;
    events.emit({ type: "turn_started", channel, turn: turn.id, fromSeq, toSeq, attempt });
    try {
      const result = await this.#run(turn, asked, draft, interrupt.signal);
      // Its message's id must be stored before the settlement reads it.
      await draft?.close();
      if (interrupt.signal.aborted && interrupt.signal.reason !== STOP) return false;
      await this.#settle(turn, asked, result, idempotencyKey);
      return true;
    } finally {
      await draft?.close();
      this.#running = null;
    }
  }

  async #run(turn: RunningTurn, asked: Asked, draft: Draft | null, signal: AbortSignal): Promise<TurnResult> {
    const { agent, now } = this.#parts;
    if (asked.count === 0)
      return { outcome: { kind: "skipped", reason: "every message was deleted" }, modelMs: 0 };
    if (turn.attempts > MAX_ATTEMPTS) {
      const why = `begun ${MAX_ATTEMPTS} times without an end`;
      return { outcome: { kind: "failed", failure: "gave_up", why }, modelMs: 0 };
    }
    const channel = createTurnChannel({ ...this.#parts, history: this.#history, turn, draft });
    return runTurn(agent, channel, turn, { now }, signal);
  }

  async #settle(turn: RunningTurn, asked: Asked, result: TurnResult, idempotencyKey: string): Promise<void> {
    const { agent, events, address, now } = this.#parts;
    const { entry, state, reason } = toSettlement(result.outcome, (kind) => agent.texts.failure({ kind }));
    const texts = entry === null ? [] : this.#outbox.split(entry.text);
    const idempotencyKeys = texts.map((_, part) => (part === 0 ? idempotencyKey : randomUUID()));
    const { modelMs } = result;
    const settlement: Settlement = { state, reason, modelMs, entry, idempotencyKeys };
    const parts = await this.#history.settle(turn, settlement, now());
    for (const seq of this.#acceptedAt.keys()) if (seq <= turn.toSeq) this.#acceptedAt.delete(seq);
    const { inReplyTo, acceptedAt } = asked;
    const turnMs = now().getTime() - acceptedAt.getTime();
    if (entry !== null) {
      const kind = entry.kind === "assistant" ? "answer" : "notice";
      this.#outbox.deliver({
        turnId: turn.id,
        text: entry.text,
        kind,
        inReplyTo,
        modelMs,
        acceptedAt,
        parts,
      });
    }
    const channel = formatAddress(address);
    events.emit({
      type: "turn_settled",
      channel,
      turn: turn.id,
      outcome: state,
      reason,
      inReplyTo,
      turnMs,
      modelMs,
    });
  }

  /** Whose messages a turn answers. */
  async #askedBy(turn: RunningTurn): Promise<Asked> {
    const history = await this.#history.snapshot();
    const messages = dueMessages(history).filter(({ seq }) => seq <= turn.toSeq);
    const times = messages.map(({ seq }) => this.#acceptedAt.get(seq) ?? this.#parts.now());
    const acceptedAt = times.toSorted((a, b) => a.getTime() - b.getTime())[0] ?? this.#parts.now();
    const count = messages.filter(({ deleted }) => !deleted).length;
    return { inReplyTo: messages.map(({ messageId }) => messageId), acceptedAt, count };
  }
}
