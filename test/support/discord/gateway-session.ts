import { randomUUID } from "node:crypto";

import { GatewayIntentBits, GatewayOpcodes } from "discord.js";
import { z } from "zod";

import type { GatewayConnection } from "./gateway-connection.ts";
import type { WorldEvent } from "./records.ts";

interface Dispatch {
  readonly s: number;
  readonly t: string;
  readonly d: unknown;
}

/**
 * A client's identified session. It outlives its connections: without one, dispatches are numbered and kept for a
 * RESUME, the newest `replayLimit` of them.
 */
export class GatewaySession {
  readonly id = randomUUID();
  readonly intents: number;
  /** The shard's number, and the total. */
  readonly shard: readonly [number, number];
  connection: GatewayConnection | null;
  readonly #replayLimit: number;
  readonly #kept: Dispatch[] = [];
  #seq = 0;

  constructor(
    intents: number,
    shard: readonly [number, number],
    connection: GatewayConnection,
    replayLimit: number,
  ) {
    this.intents = intents;
    this.shard = shard;
    this.connection = connection;
    this.#replayLimit = replayLimit;
  }

  get seq(): number {
    return this.#seq;
  }

  wants(event: WorldEvent): boolean {
    if (event.intent !== 0 && (this.intents & event.intent) === 0) return false;
    return this.tellsOf(guildOf(event));
  }

  /** Whether it reports a server's events; the first shard also reports events without a server. */
  tellsOf(guildId: string | null): boolean {
    const [id, count] = this.shard;
    return (guildId === null ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(count))) === id;
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

  /** Whether all events after this number are kept. */
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

const inGuild = z.object({ guild_id: z.string().optional(), id: z.string().optional() });

/** The server of an event; null: none. */
function guildOf(event: WorldEvent): string | null {
  const { guild_id: guildId, id } = inGuild.parse(event.data(false));
  return guildId ?? (/^GUILD_(?:CREATE|UPDATE|DELETE)$/.test(event.t) ? (id ?? null) : null);
}
