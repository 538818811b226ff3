import { withDeadline } from "../../../async/deadline.ts";
import { errorMessage } from "../../../core/errors.ts";
import { type ConnectionState, notConnectedYet } from "../../platform.ts";
import type { ShardHomes } from "../../shared/shard-homes.ts";
import { PlatformRetry } from "../../shared/platform-retry.ts";
import { isWrongToken, PLATFORM_NAME } from "../rest/api.ts";
import { type SharedParts, ShardIntake } from "./shard-intake.ts";

export interface ShardsOptions {
  /** `auto`: as many as Discord recommends. */
  readonly count: number | "auto";
  readonly homes: ShardHomes;
}

/** How long the start waits for the first attempt to connect, ms. */
const START_MS = 10_000;
/** From the worst to the best. */
const KINDS = ["waiting", "connecting", "interrupted", "connected"] as const;

/** The connections to the gateway that this daemon has. */
export class Shards {
  readonly #parts: SharedParts;
  readonly #options: ShardsOptions;
  readonly #closing = new AbortController();
  readonly #open = new Map<number, ShardIntake>();
  /** Connections that were lost, until they are closed. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #starting = new Set<Promise<void>>();
  /** 0: not known yet. */
  #count = 0;
  #counting: ConnectionState = notConnectedYet();

  constructor(parts: SharedParts, options: ShardsOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Resolves after the first attempt to connect. Failures are logged and retried. */
  async start(): Promise<void> {
    const { count } = this.#options;
    if (count === "auto") await this.#askFirst();
    else this.#begin(count);
    await Promise.all(this.#starting);
  }

  /** Hears no more: see `ShardIntake.stop`. */
  async stop(deadline: AbortSignal): Promise<void> {
    this.#closing.abort();
    await Promise.all([...[...this.#open.values()].map(async (one) => one.stop(deadline)), ...this.#leaving]);
  }

  /** That of the connection which stands worst. */
  get state(): ConnectionState {
    if (this.#count === 0) return this.#counting;
    const states = [...this.#open].map(([shard, { state }]) => ({ shard, state }));
    const kind = KINDS.find((one) => states.some(({ state }) => state.kind === one));
    const worst = states.find(({ state }) => state.kind === kind);
    if (worst === undefined)
      return { ...this.#counting, kind: "connected", as: "without a shard of the gateway" };
    const { shard, state } = worst;
    if (this.#count === 1) return state;
    const shards = `${rangesOf(states.map(({ shard: one }) => one))} of ${this.#count}`;
    if (state.kind === "connected") return { ...state, as: `shards ${shards}` };
    return { ...state, why: state.why === null ? `shard ${shard}` : `shard ${shard}: ${state.why}` };
  }

  /** Resolves after the first attempt, or when that takes too long; work goes on. */
  async #askFirst(): Promise<void> {
    const { promise: tried, resolve } = Promise.withResolvers<void>();
    void this.#ask(resolve).then(resolve);
    await withDeadline(tried, START_MS, this.#closing.signal);
  }

  async #ask(onFailed: () => void): Promise<void> {
    const { log, logins, timing } = this.#parts;
    const { signal } = this.#closing;
    const { backOff } = timing;
    const retry = new PlatformRetry({ platform: PLATFORM_NAME, log, signal, ...(backOff && { backOff }) });
    await retry.until("shards_not_known", Number.POSITIVE_INFINITY, async () => {
      try {
        const { shards } = await logins.information();
        this.#begin(shards);
      } catch (error) {
        this.#counting = {
          kind: "waiting",
          since: new Date(),
          why: errorMessage(error),
          isOperators: isWrongToken(error),
        };
        onFailed();
        throw error;
      }
    });
  }

  #begin(count: number): void {
    if (this.#closing.signal.aborted) return;
    this.#count = count;
    this.#counting = notConnectedYet();
    this.#options.homes.start(count, {
      gained: (shards) => this.#gain(shards),
      lost: async (shards) => this.#lose(shards),
    });
  }

  #gain(shards: readonly number[]): void {
    for (const shard of shards) {
      if (this.#closing.signal.aborted || this.#open.has(shard)) continue;
      const one = new ShardIntake(this.#parts, shard, this.#count);
      this.#open.set(shard, one);
      const starting = one.start().finally(() => this.#starting.delete(starting));
      this.#starting.add(starting);
    }
  }

  async #lose(shards: readonly number[]): Promise<void> {
    const leaving = shards.flatMap((shard) => {
      const one = this.#open.get(shard);
      this.#open.delete(shard);
      return one === undefined ? [] : [this.#leave(one)];
    });
    await Promise.all(leaving);
  }

  async #leave(one: ShardIntake): Promise<void> {
    const leaving = one.leave().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
    await leaving;
  }
}

/** `0-3, 7` of the numbers of shards. Pure. */
export function rangesOf(shards: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const shard of shards.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.to === shard - 1) last.to = shard;
    else ranges.push({ from: shard, to: shard });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(", ");
}
