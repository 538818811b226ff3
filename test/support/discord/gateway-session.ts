import { randomUUID } from "node:crypto";

import { GatewayIntentBits, GatewayOpcodes } from "discord.js";

import type { GatewayConnection } from "./gateway-connection.ts";
import type { WorldEvent } from "./records.ts";

interface Dispatch {
  readonly s: number;
  readonly t: string;
  readonly d: unknown;
}

/**
 * What a client identified as. It outlives its connections: while there is none, dispatches are numbered and kept,
 * so that a RESUME gets them; of more than `replayLimit` only the newest.
 */
export class GatewaySession {
  readonly id = randomUUID();
  readonly intents: number;
  connection: GatewayConnection | null;
  readonly #replayLimit: number;
  readonly #kept: Dispatch[] = [];
  #seq = 0;

  constructor(intents: number, connection: GatewayConnection, replayLimit: number) {
    this.intents = intents;
    this.connection = connection;
    this.#replayLimit = replayLimit;
  }

  get seq(): number {
    return this.#seq;
  }

  wants(event: WorldEvent): boolean {
    return event.intent === 0 || (this.intents & event.intent) !== 0;
  }

  deliver(event: WorldEvent): void {
    this.dispatch(event.t, event.data((this.intents & GatewayIntentBits.MessageContent) !== 0));
  }

  dispatch(t: string, d: unknown): void {
    this.#seq += 1;
    const dispatch = { s: this.#seq, t, d };
    this.#kept.push(dispatch);
    if (this.#kept.length > this.#replayLimit) this.#kept.shift();
    this.#send(dispatch);
  }

  /** Whether everything after this number is still here. */
  canReplayFrom(seq: number): boolean {
    return seq === this.#seq || (this.#kept[0]?.s ?? Number.POSITIVE_INFINITY) <= seq + 1;
  }

  replayFrom(seq: number): void {
    for (const dispatch of this.#kept.filter(({ s }) => s > seq)) this.#send(dispatch);
    this.dispatch("RESUMED", { _trace: [] });
  }

  #send({ s, t, d }: Dispatch): void {
    this.connection?.send({ op: GatewayOpcodes.Dispatch, s, t, d });
  }
}
