import { DISK_FULL } from "./program.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { OperatorError, errorMessage } from "../../../core/errors.ts";

/** All times in ms. */
export interface SupervisionTiming {
  readonly lookEveryMs: number;
  /** So long a server that was stopped in peace is left alone: who stops it may be about to stop Weir, or to start it again. */
  readonly graceMs: number;
  /** Before the second start; doubles with each further one. */
  readonly waitFromMs: number;
  readonly waitToMs: number;
  /** Starts in a row that fail before it is given up. */
  readonly maxAttempts: number;
  /** After this time a server counts as healthy: its next end has a new reason. */
  readonly soundAfterMs: number;
}

export const SUPERVISION: SupervisionTiming = {
  lookEveryMs: 500,
  graceMs: 5000,
  waitFromMs: 500,
  waitToMs: 15_000,
  maxAttempts: 8,
  soundAfterMs: 60_000,
};

/** `crashed`: it left its files behind; `stopped`: it was shut down, by pg_ctl or by itself where it cannot recover. */
export type ServerState = "runs" | "crashed" | "stopped";

export interface SupervisedServer {
  /** What has become of it. May throw where that cannot be told just now. */
  readonly look: () => Promise<ServerState>;
  /** Starts the server again, or finds the one that another process has started. @throws if it does not start */
  readonly start: (signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
}

/**
 * The wait before a start. With a full disk there is no limit of attempts: giving up would end the process, and its
 * successor could not start either until somebody makes room. Pure.
 * @param failed starts in a row that have failed
 * @param why the error of the last failed start
 * @returns ms; null: it is given up
 */
export function waitBeforeStart(failed: number, why: string, timing: SupervisionTiming): number | null {
  if (failed >= timing.maxAttempts && !DISK_FULL.test(why)) return null;
  return failed === 0 ? 0 : Math.min(timing.waitToMs, timing.waitFromMs * 2 ** (failed - 1));
}

/**
 * Starts a server again whenever it has ended, until `end`. If the server cannot be started again, the supervisor stops and
 * reports it once.
 */
export class Supervisor {
  readonly #server: SupervisedServer;
  readonly #timing: SupervisionTiming;
  readonly #onLost: (error: OperatorError) => void;
  readonly #ending = new AbortController();
  /** Resolves when nothing is started any more. */
  readonly ended: Promise<void>;
  /** Servers in a row that ended soon after their start. */
  #shortLives = 0;
  #startedAt = -Infinity;

  constructor(server: SupervisedServer, timing: SupervisionTiming, onLost: (error: OperatorError) => void) {
    this.#server = server;
    this.#timing = timing;
    this.#onLost = onLost;
    this.ended = this.#run();
  }

  /** From here on nothing is started; an attempt that is under way still ends by itself. */
  end(): void {
    this.#ending.abort();
  }

  async #run(): Promise<void> {
    let absentSince: number | null = null;
    while (await this.#rest(this.#timing.lookEveryMs)) {
      // A failed look (no file can be opened, say) counts as running; the next look decides.
      const state = await this.#server.look().catch(() => "runs" as const);
      absentSince = state === "stopped" ? (absentSince ?? performance.now()) : null;
      const isLeftAlone = absentSince !== null && performance.now() - absentSince < this.#timing.graceMs;
      if (state === "runs" || isLeftAlone || this.#ending.signal.aborted) continue;
      absentSince = null;
      if (!(await this.#startAgain(state))) return;
    }
  }

  /** @returns false if it was given up */
  async #startAgain(state: "crashed" | "stopped"): Promise<boolean> {
    const { log } = this.#server;
    const endedAt = performance.now();
    const how = state === "crashed" ? "it was killed, or crashed" : "it was stopped, or shut itself down";
    log.error({ what: `The embedded Postgres has ended (${how}). It is started again.` }, "database_ended");
    const isSound = endedAt - this.#startedAt >= this.#timing.soundAfterMs;
    this.#shortLives = isSound ? 0 : this.#shortLives + 1;
    // One that starts each time is never given up, however soon it ends.
    const least = waitBeforeStart(Math.min(this.#shortLives, this.#timing.maxAttempts - 1), "", this.#timing);
    await this.#rest(least ?? 0);
    for (let failed = 0; !this.#ending.signal.aborted;) {
      try {
        await this.#server.start(this.#ending.signal);
        this.#startedAt = performance.now();
        const ms = Math.round(this.#startedAt - endedAt);
        if (!this.#ending.signal.aborted) log.warn({ ms, failed }, "database_restarted");
        return true;
      } catch (error) {
        if (this.#ending.signal.aborted) return true;
        failed++;
        if (!(await this.#mayGoOn(error, failed))) return false;
      }
    }
    return true;
  }

  /** Waits before the next start. @returns false if there is none */
  async #mayGoOn(error: unknown, failed: number): Promise<boolean> {
    const { log } = this.#server;
    const why = errorMessage(error);
    const waitMs = error instanceof OperatorError ? null : waitBeforeStart(failed, why, this.#timing);
    log.error({ why, retryInMs: waitMs }, "database_not_restarted");
    if (waitMs !== null) {
      await this.#rest(waitMs);
      return true;
    }
    const what = `The embedded Postgres has ended and cannot be started again (${failed} attempts), so Weir ends.`;
    log.fatal({ what }, "database_lost");
    this.#onLost(new OperatorError(`${what} ${why}`, { cause: error }));
    return false;
  }

  /** @returns false if the supervision is over */
  async #rest(ms: number): Promise<boolean> {
    const { signal } = this.#ending;
    await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
    return !signal.aborted;
  }
}
