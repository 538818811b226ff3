import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import type { Journal } from "./journal.ts";
import type { JsonObject } from "./model.ts";

export type ParcelType = "events_api" | "slash_commands" | "interactive";

/** One attempt at a delivery to the app. */
export interface Parcel {
  readonly envelopeId: string;
  readonly type: ParcelType;
  readonly payload: JsonObject;
  /** 0: the first. */
  readonly retryAttempt: number;
  /** Empty at the first. */
  readonly retryReason: string;
}

/** `isFinal`: the app asked for no retry. */
export type Outcome =
  | { readonly isAcknowledged: true; readonly body: unknown }
  | { readonly isAcknowledged: false; readonly reason: string; readonly isFinal: boolean };

/** A way to the app: its sockets, or its request URL. */
export interface Carrier {
  carry(parcel: Parcel): Promise<Outcome>;
}

/** The order in which held events are sent: a function gets them oldest first. */
export type ReleaseOrder = "in_order" | "reversed" | ((payloads: JsonObject[]) => JsonObject[]);

/** Delivers events to the app, repeatedly until acknowledged, with the disturbances that a test requests. */
export class EventDeliveries {
  readonly #carrier: Carrier;
  readonly #journal: Journal;
  readonly #retryDelaysMs: readonly number[];
  readonly #stopping: AbortSignal;
  readonly #inFlight = new Set<Promise<void>>();
  #held: JsonObject[] | undefined;
  #duplicates = 0;
  #drops = 0;
  readonly #delaysMs: number[] = [];

  /** @param retryDelaysMs the delay before each further attempt; its length is their number */
  constructor(carrier: Carrier, journal: Journal, retryDelaysMs: readonly number[], stopping: AbortSignal) {
    this.#carrier = carrier;
    this.#journal = journal;
    this.#retryDelaysMs = retryDelaysMs;
    this.#stopping = stopping;
  }

  /** Holds back all events from now on, until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(order: ReleaseOrder = "in_order"): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    const payloads =
      order === "in_order" ? held : order === "reversed" ? held.toReversed() : order([...held]);
    for (const payload of payloads) this.#start(payload);
  }

  /** Sends each of the next events twice, as the same envelope. */
  duplicateNext(count = 1): void {
    this.#duplicates += count;
  }

  /** Drops the next events, which are then only in the history. */
  dropNext(count = 1): void {
    this.#drops += count;
  }

  /** Delays the next events, each by one of these delays. */
  delayNext(...delaysMs: readonly number[]): void {
    this.#delaysMs.push(...delaysMs);
  }

  send(payload: JsonObject): void {
    if (this.#held === undefined) this.#start(payload);
    else this.#held.push(payload);
  }

  /** Sends an earlier event again, with the same event_id. */
  resend(payload: JsonObject): void {
    this.#start(payload);
  }

  /** Resolves when no event waits for its acknowledgement or for another attempt. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }

  #start(payload: JsonObject): void {
    if (this.#drops > 0) {
      this.#drops -= 1;
      return;
    }
    const run = this.#deliver(payload).catch((error: unknown) => {
      if (!this.#stopping.aborted) throw error;
    });
    this.#inFlight.add(run);
    void run.finally(() => this.#inFlight.delete(run));
  }

  async #deliver(payload: JsonObject): Promise<void> {
    const lateMs = this.#delaysMs.shift();
    const isDoubled = this.#duplicates > 0;
    if (isDoubled) this.#duplicates -= 1;
    if (lateMs !== undefined) await delay(lateMs, undefined, { signal: this.#stopping });
    let reason = "";
    for (let attempt = 0; attempt <= this.#retryDelaysMs.length; attempt += 1) {
      const waitMs = attempt === 0 ? 0 : (this.#retryDelaysMs[attempt - 1] ?? 0);
      if (waitMs > 0) await delay(waitMs, undefined, { signal: this.#stopping });
      const outcome = await this.#attempt(payload, attempt, reason, isDoubled);
      if (outcome.isAcknowledged || this.#stopping.aborted) return;
      if (outcome.isFinal) break;
      ({ reason } = outcome);
    }
    const eventId = payload["event_id"];
    this.#journal.add({ kind: "given_up", eventId: typeof eventId === "string" ? eventId : undefined });
  }

  async #attempt(
    payload: JsonObject,
    retryAttempt: number,
    retryReason: string,
    isDoubled: boolean,
  ): Promise<Outcome> {
    const parcel: Parcel = {
      envelopeId: randomUUID(),
      type: "events_api",
      payload,
      retryAttempt,
      retryReason,
    };
    const first = this.#carrier.carry(parcel);
    if (isDoubled && retryAttempt === 0) await this.#carrier.carry(parcel);
    return first;
  }
}
