import type { Logger } from "pino";
import { errorMessage } from "../../../core/errors.ts";
import type { GatewayPlace } from "../../../core/gateway.ts";
import type { CatchUpLedger } from "../../platform.ts";
import { PLATFORM_NAME } from "../rest/api.ts";

export interface SessionKeeperParts {
  readonly ledger: Pick<CatchUpLedger, "keepSession">;
  /** With which this daemon has the connection; null: it belongs to no cluster. */
  readonly epoch: number | null;
  /** Up to where everything is in the log; null: that is not known just now, so what was kept stays. */
  readonly place: () => GatewayPlace | null;
  /** The session lives: a place that has not changed is worth keeping anew. */
  readonly isAlive: () => boolean;
  readonly log: Logger;
}

/** At most four writes a second, ms. */
const EVERY_MS = 250;
/** How often the time is kept at which a silent session was known to live, ms. */
const ALIVE_MS = 30_000;

/** Keeps in the database how far a session was heard. What is not written costs a longer replay, and no event. */
export class SessionKeeper {
  readonly #parts: SessionKeeperParts;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | null = null;
  #kept: GatewayPlace | null = null;
  #keptAt = performance.now();

  constructor(parts: SessionKeeperParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#look(), EVERY_MS).unref();
  }

  /** Keeps the last place, and no other. Does not reject. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
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
    this.#writing = this.#write(place).finally(() => (this.#writing = null));
  }

  async #write(place: GatewayPlace): Promise<void> {
    const { ledger, epoch, log } = this.#parts;
    try {
      const isKept = await ledger.keepSession(PLATFORM_NAME, place, epoch);
      if (!isKept) log.info({ platform: PLATFORM_NAME, shard: place.shard }, "session_of_another_daemon");
      this.#kept = place;
      this.#keptAt = performance.now();
    } catch (error) {
      log.debug({ platform: PLATFORM_NAME, why: errorMessage(error) }, "session_not_kept");
    }
  }
}
