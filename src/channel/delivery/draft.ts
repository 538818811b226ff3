import { setTimeout as delay } from "node:timers/promises";
import type { ChannelAddress, TurnId, Owner } from "../../core/ids.ts";
import type { OutboundMessage, WorkStep } from "../../core/message.ts";
import { sliceWhole } from "../../text/text.ts";
import { type PieceTiming, type Platform, PlatformError } from "../../platforms/platform.ts";
import type { DeliveryStore } from "../../store/turns/deliveries.ts";
import { unlessAborted } from "../../async/deadline.ts";
import { askFresh } from "./fresh.ts";

export interface DraftParts {
  readonly platform: Platform;
  readonly deliveries: Pick<DeliveryStore, "open" | "shown" | "refuseOldEpoch">;
  readonly owner: Owner;
  readonly address: ChannelAddress;
  readonly turnId: TurnId;
  readonly idempotencyKey: string;
  readonly inReplyTo: readonly string[];
  readonly timing: PieceTiming;
  /** Undefined: the channel's own agent. */
  readonly speaker: string | undefined;
  /** Puts the speaker's name before a text if the platform does not show it itself. */
  readonly signed: (text: string) => string;
  readonly signal: AbortSignal;
}

/**
 * Shows an answer while it is written. The delivery's row is committed before the first visible byte, and the
 * platform's id is stored before any edit: after a crash, the next owner edits this message into the final answer. Before each
 * further piece the log confirms that this daemon still owns the channel, so that no piece overwrites that answer.
 * A failure here does not fail the turn; the outbox sends the final text in any case.
 *
 *   unseen → (its row is open) shown, piece by piece → closed: by the turn's end, or by a piece that failed
 */
export class Draft {
  readonly #parts: DraftParts;
  #wanted: string | null = null;
  #shown: string | null = null;
  /** The steps of its work, in order, by id. */
  readonly #steps = new Map<string, WorkStep>();
  #hasNewSteps = false;
  #takesSteps: boolean;
  #messageId: string | null = null;
  /** The idempotency key of the shown message: the turn row's key once the delivery is open. */
  #key: string;
  #pump: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(parts: DraftParts) {
    this.#parts = parts;
    this.#key = parts.idempotencyKey;
    this.#takesSteps = parts.timing.showsSteps?.(parts.address) === true;
  }

  /** The platform's id of the draft's message; null: none is known. */
  get messageId(): string | null {
    return this.#messageId;
  }

  /** Shows this text as soon as the platform allows it; null: what was shown is void. Returns at once. */
  show(text: string | null): void {
    this.#wanted = text;
    this.#start();
  }

  /** Shows a step of the work as soon as the platform allows it, where it shows steps. Returns at once. */
  begin(id: string, title: string, isDelegated: boolean): void {
    this.#step({ id, title, isDelegated, state: "running" });
  }

  end(id: string, outcome: "done" | "failed"): void {
    const begun = this.#steps.get(id);
    if (begun !== undefined) this.#step({ ...begun, state: outcome });
  }

  #step(step: WorkStep): void {
    if (!this.#takesSteps) return;
    this.#steps.set(step.id, step);
    this.#hasNewSteps = true;
    this.#start();
  }

  #start(): void {
    if (!this.#hasNews || this.#closing.signal.aborted || this.#pump !== null) return;
    this.#pump = this.#run();
  }

  get #hasNews(): boolean {
    return this.#hasNewSteps || (this.#wanted !== null && this.#wanted !== this.#shown);
  }

  /** Stops updating the draft. Resolves when no call to the platform is under way, or the channel is released. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#pump !== null) await unlessAborted(this.#pump, this.#parts.signal);
    // No message of this draft is known.
    if (this.#messageId === null) this.#parts.timing.ended?.(this.#key);
  }

  /** Must not throw: only `close` awaits it. */
  async #run(): Promise<void> {
    const { timing } = this.#parts;
    const { intervalMs, firstAfterMs = 0 } = timing;
    const signal = AbortSignal.any([this.#parts.signal, this.#closing.signal]);
    try {
      if (this.#messageId === null && firstAfterMs > 0) await delay(firstAfterMs, undefined, { signal });
      while (!signal.aborted && this.#hasNews) {
        if (timing.mayShow?.(this.#key) !== false) await this.#showNews();
        if (intervalMs > 0) await delay(intervalMs, undefined, { signal });
      }
    } catch {
      // A piece failed at the platform or the database: no more pieces. The outbox sends the final text.
      this.#closing.abort();
    }
    this.#pump = null;
  }

  async #showNews(): Promise<void> {
    const text = this.#wanted;
    this.#hasNewSteps = false;
    try {
      await this.#showOnce(text ?? "");
    } catch (error) {
      const isRefused = error instanceof PlatformError && !error.retryable;
      // The answer may still come without its steps.
      if (text !== null || this.#messageId !== null || !isRefused) throw error;
      this.#takesSteps = false;
      this.#hasNewSteps = false;
      this.#steps.clear();
    }
  }

  async #showOnce(text: string): Promise<void> {
    const { platform, deliveries, owner, turnId, idempotencyKey } = this.#parts;
    const message = this.#message(text);
    if (this.#messageId === null) {
      const delivery = await this.#fresh(async () => deliveries.open(owner, turnId, idempotencyKey));
      if (delivery === null) return;
      const key = delivery.idempotencyKey;
      // Another key: an earlier run of the turn opened it.
      const mayBeThere = key !== idempotencyKey;
      if (key !== this.#key) this.#parts.timing.ended?.(this.#key);
      this.#key = key;
      this.#messageId =
        delivery.messageId ?? (await platform.send({ ...message, idempotencyKey: key, mayBeThere }));
      await deliveries.shown(owner, delivery.id, this.#messageId);
      if (delivery.messageId === null) {
        this.#shown = text === "" ? null : text;
        return;
      }
    }
    const isOurs = await this.#fresh(async () => {
      await deliveries.refuseOldEpoch(owner);
      return true;
    });
    if (isOurs === null) return;
    await platform.edit(this.#messageId, { ...message, idempotencyKey: this.#key });
    if (text !== "") this.#shown = text;
  }

  /**
   * @param ask refuses an epoch that is over
   * @returns null: it was late
   * @throws Error if the channel was released meanwhile
   */
  async #fresh<Result>(ask: () => Promise<Result>): Promise<Result | null> {
    const { result, isFresh } = await askFresh(ask);
    this.#parts.signal.throwIfAborted();
    return isFresh ? result : null;
  }

  #message(text: string): OutboundMessage {
    const { address, idempotencyKey, inReplyTo, platform, speaker, signed } = this.#parts;
    const fitting = sliceWhole(text === "" ? "" : signed(text), 0, platform.capabilities.maxTextLength);
    return {
      channel: address,
      idempotencyKey,
      mayBeThere: false,
      mayBeInPart: true,
      text: fitting,
      ...(this.#steps.size > 0 && { steps: [...this.#steps.values()] }),
      final: false,
      inReplyTo,
      kind: "answer",
      ...(speaker !== undefined && { speaker }),
    };
  }
}
