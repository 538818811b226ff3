import type { Logger } from "pino";
import { errorMessage } from "../../../core/errors.ts";
import type { GatewayPlace } from "../../../core/gateway.ts";
import type { CatchUpLedger } from "../../platform.ts";
import { PLATFORM_NAME } from "../rest/api.ts";

interface SessionKeeperParts {
  readonly ledger: Pick<CatchUpLedger, "keepSession">;
  /** The epoch of this daemon's lease on the connection; null: there is no cluster. */
  readonly epoch: number | null;
  /** Requests a new epoch if this one has ended: see `ShardHomes.retake`. */
  readonly retake: () => Promise<number | null>;
  /** The last event up to which all are in the log; null: unknown now, so the stored place stays. */
  readonly place: () => GatewayPlace | null;
  /** The session is alive: even an unchanged place is stored again. */
  readonly isAlive: () => boolean;
  readonly log: Logger;
  /** Default: every five seconds. */
  readonly retakeMs?: number;
}

/** Shortest time between two writes, ms. */
const EVERY_MS = 250;
/** How often a silent session's last sign of life is stored, ms. */
const ALIVE_MS = 30_000;

/** Interval at which a refused keeper checks whether the connection is still this daemon's, ms. */
const RETAKE_MS = 5000;

/** Stores a session's progress in the database. A missed write costs a longer replay, but no event. */
export class SessionKeeper {
  readonly #parts: SessionKeeperParts;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | null = null;
  #kept: GatewayPlace | null = null;
  #keptAt = performance.now();
  #epoch: number | null;
  /** The epoch has ended. */
  #isRefused = false;
  #retakenAt = Number.NEGATIVE_INFINITY;

  constructor(parts: SessionKeeperParts) {
    this.#parts = parts;
    this.#epoch = parts.epoch;
    this.#timer = setInterval(() => this.#look(), EVERY_MS).unref();
  }

  /** Stores the last place only. Does not reject. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    if (this.#isRefused) return;
    const place = this.#parts.place();
    if (place !== null) await this.#write(place);
  }

  #look(): void {
    if (this.#writing !== null) return;
    const place = this.#parts.place();
    if (place === null) return;
    const { session, sequence } = this.#kept ?? {};
    const isNew = place.session !== session || place.sequence !== sequence;
    const isOld = performance.now() - this.#keptAt >= ALIVE_MS && this.#parts.isAlive();
    if (!isNew && !isOld) return;
    this.#writing = this.#keep(place).finally(() => (this.#writing = null));
  }

  async #keep(place: GatewayPlace): Promise<void> {
    if (this.#isRefused && !(await this.#retake())) return;
    await this.#write(place);
  }

  /** @returns whether there is an epoch to write with */
  async #retake(): Promise<boolean> {
    const { retake, retakeMs = RETAKE_MS } = this.#parts;
    if (performance.now() - this.#retakenAt < retakeMs) return false;
    this.#retakenAt = performance.now();
    const epoch = await retake();
    if (epoch === null) return false;
    this.#epoch = epoch;
    this.#isRefused = false;
    return true;
  }

  async #write(place: GatewayPlace): Promise<void> {
    const { ledger, log } = this.#parts;
    const { shard } = place;
    try {
      if (await ledger.keepSession(PLATFORM_NAME, place, this.#epoch)) {
        this.#kept = place;
        this.#keptAt = performance.now();
      } else {
        this.#isRefused = true;
        log.info({ platform: PLATFORM_NAME, shard }, "session_of_another_daemon");
      }
    } catch (error) {
      log.debug({ platform: PLATFORM_NAME, why: errorMessage(error) }, "session_not_kept");
    }
  }
}
