import { OperatorError } from "../../../core/errors.ts";
import { formatRanges } from "../../../text/format.ts";
import { Connection, type Session } from "../../shared/connection.ts";
import type { ConnectionState } from "../../platform.ts";
import type { HeldShard } from "../../shared/shard-homes.ts";
import { isWrongToken, PLATFORM_NAME } from "../rest/api.ts";
import { WRONG_TOKEN } from "../rest/api-errors.ts";
import { type IntakeParts, ShardIntake } from "./shard-intake.ts";

/** From the worst to the best. */
const KINDS = ["waiting", "connecting", "interrupted", "connected"] as const;

export class Shards {
  readonly #parts: IntakeParts;
  readonly #configured: number | "auto";
  readonly #open = new Map<number, ShardIntake>();
  /** Lost connections that are being closed. */
  readonly #leaving = new Map<number, Promise<void>>();
  readonly #starting = new Set<Promise<void>>();
  /** Asks for the number of connections until it is known. */
  readonly #counting: Connection;
  #isStopped = false;
  /** 0: unknown yet. */
  #count = 0;

  /** @param configured `auto`: the number of connections that Discord recommends */
  constructor(parts: IntakeParts, configured: number | "auto") {
    const { log, timing } = parts;
    this.#parts = parts;
    this.#configured = configured;
    this.#counting = new Connection({
      platform: PLATFORM_NAME,
      open: async () => this.#begin(),
      isQuiet: true,
      log,
      backOff: timing.backOff,
    });
  }

  /** Resolves after the first attempt to connect. Failures are logged and retried. */
  async start(): Promise<void> {
    await this.#counting.start();
    await Promise.all(this.#starting);
  }

  /** Stops receiving: see `ShardIntake.stop`. */
  async stop(deadline: AbortSignal): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#counting[Symbol.asyncDispose](), this.#parts.homes.leave(deadline)]);
    await Promise.all([
      ...[...this.#open.values()].map(async (one) => one.stop(deadline)),
      ...this.#leaving.values(),
    ]);
  }

  get state(): ConnectionState {
    if (this.#count === 0) return this.#counting.state;
    const states = [...this.#open].map(([shard, { state }]) => ({ shard, state }));
    const kind = KINDS.find((one) => states.some(({ state }) => state.kind === one));
    const worst = states.find(({ state }) => state.kind === kind);
    if (worst === undefined)
      return { ...this.#counting.state, kind: "connected", as: "without a shard of the gateway" };
    const { shard, state } = worst;
    if (this.#count === 1) return state;
    const shards = `${formatRanges(states.map(({ shard: one }) => one))} of ${this.#count}`;
    if (state.kind === "connected") return { ...state, as: `shards ${shards}` };
    return { ...state, why: state.why === null ? `shard ${shard}` : `shard ${shard}: ${state.why}` };
  }

  /** @throws OperatorError if the operator has to change something */
  async #begin(): Promise<Session> {
    const wanted = await this.#wanted();
    this.#count = await this.#parts.homes.start(wanted, {
      gained: (shards, of) => this.#gain(shards, of),
      lost: async (shards, deadline) => this.#lose(shards, deadline),
    });
    const { promise: closed, resolve } = Promise.withResolvers<null>();
    return { closed, close: async () => resolve(null) };
  }

  async #wanted(): Promise<number> {
    if (this.#configured !== "auto") return this.#configured;
    try {
      return (await this.#parts.logins.information()).shards;
    } catch (error) {
      throw isWrongToken(error) ? new OperatorError(WRONG_TOKEN) : error;
    }
  }

  #gain(shards: readonly HeldShard[], of: number): void {
    this.#count = of;
    for (const held of shards) {
      if (this.#isStopped || this.#open.has(held.shard)) continue;
      const one = new ShardIntake(this.#parts, held, of);
      this.#open.set(held.shard, one);
      const starting = this.#start(one, held.shard).finally(() => this.#starting.delete(starting));
      this.#starting.add(starting);
    }
  }

  async #start(one: ShardIntake, shard: number): Promise<void> {
    // A connection that returns resumes after its own last event.
    await this.#leaving.get(shard);
    if (this.#open.get(shard) === one) await one.start();
  }

  async #lose(shards: readonly number[], deadline: AbortSignal): Promise<void> {
    for (const shard of shards) {
      const one = this.#open.get(shard);
      if (one === undefined) continue;
      this.#open.delete(shard);
      // An earlier loss of the same connection may still be under way.
      const left = Promise.all([one.leave(deadline), this.#leaving.get(shard)]).then(() => undefined);
      const leaving = left.finally(() => {
        if (this.#leaving.get(shard) === leaving) this.#leaving.delete(shard);
      });
      this.#leaving.set(shard, leaving);
    }
    await Promise.all(shards.map(async (shard) => this.#leaving.get(shard)));
  }
}
