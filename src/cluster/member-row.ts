import { hostname } from "node:os";
import process from "node:process";
import type { Logger } from "pino";
import { PollLoop } from "../async/poll-loop.ts";
import { errorMessage } from "../core/errors.ts";
import type { MemberStore } from "../store/channels/members.ts";

/** How often it tells of itself, ms. */
const TELL_MS = 2000;

export interface MemberRowParts {
  readonly members: MemberStore;
  /** Of this run. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** The partitions that it is home of. */
  readonly held: () => readonly number[];
  readonly vitals: () => object;
  /** Which key it signs with. Must not reject. */
  readonly keyId: () => Promise<string | null>;
  /** Somebody wants it to hand on its partitions, or no longer. Must not throw. */
  readonly rest: (isDrained: boolean) => void;
  readonly log: Logger;
  /** Default: every two seconds. */
  readonly everyMs?: number;
}

/** Has others see this daemon in the database, and reads there whether it is to hand on what it has. */
export class MemberRow implements AsyncDisposable {
  readonly #parts: MemberRowParts;
  readonly #startedAt = new Date();
  readonly #looks = new PollLoop(async () => this.#tell());
  #isDrained = false;
  /** A database that stays away is told of once. */
  #warned = false;

  constructor(parts: MemberRowParts) {
    this.#parts = parts;
  }

  /** Tells of it, now and from now on every two seconds. Must not throw. */
  async start(): Promise<void> {
    await this.#looks.once();
  }

  /** Takes the row back. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks[Symbol.asyncDispose]();
    const { members, id } = this.#parts;
    // A database that is away keeps a row of a daemon that is gone, which says so by its age.
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
