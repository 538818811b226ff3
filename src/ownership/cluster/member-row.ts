import { hostname } from "node:os";
import process from "node:process";
import type { Logger } from "pino";
import { PollLoop } from "../../async/poll-loop.ts";
import { errorMessage } from "../../core/errors.ts";
import type { MemberStore } from "../../store/channels/members.ts";

/** Interval between updates of the row, ms. */
const TELL_MS = 2000;

export interface MemberRowParts {
  readonly members: MemberStore;
  /** Of this run of the daemon. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly held: () => readonly number[];
  readonly vitals: () => object;
  /** The id of its signing key; null: it has none. Must not reject. */
  readonly keyId: () => Promise<string | null>;
  /** Called when the row asks this daemon to hand on its partitions, or no longer asks. Must not throw. */
  readonly rest: (isDrained: boolean) => void;
  readonly log: Logger;
  /** Default: every two seconds. */
  readonly everyMs?: number;
}

/** Keeps this daemon's row of `members` current, and reads there whether it must hand on its partitions. */
export class MemberRow implements AsyncDisposable {
  readonly #parts: MemberRowParts;
  readonly #startedAt = new Date();
  readonly #looks = new PollLoop(async () => this.#tell());
  #isDrained = false;
  /** An outage of the database is logged once. */
  #warned = false;

  constructor(parts: MemberRowParts) {
    this.#parts = parts;
  }

  /** Writes the row now, and then every two seconds. Must not throw. */
  async start(): Promise<void> {
    await this.#looks.once();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks[Symbol.asyncDispose]();
    const { members, id } = this.#parts;
    // If the database is away, the row stays; its age shows that the daemon has ended.
    await members.remove(id).catch(() => undefined);
  }

  async #tell(): Promise<number> {
    const { members, id, name, version, held, vitals, keyId, rest, log, everyMs = TELL_MS } = this.#parts;
    try {
      const presence = { id, name, version, host: hostname(), pid: process.pid, startedAt: this.#startedAt };
      const told = { ...presence, held: held(), keyId: await keyId(), vitals: vitals() };
      const isDrained = await members.tell(told);
      this.#warned = false;
      if (isDrained !== this.#isDrained) {
        this.#isDrained = isDrained;
        log.info({ name, isDrained }, "cluster_drain");
        rest(isDrained);
      }
    } catch (error) {
      if (!this.#warned) log.warn({ why: errorMessage(error) }, "member_not_told");
      this.#warned = true;
    }
    return everyMs;
  }
}
