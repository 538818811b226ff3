import type pg from "pg";
import { errorCode } from "../../core/errors.ts";
import { ServerClient } from "./server-client.ts";
import type { PrepareSession } from "./session-settings.ts";
import { endClient, runOn } from "./statements.ts";

/** SQLSTATEs of a server that has no room for the probe: it serves others meanwhile. */
const CROWDED = /^53/;

/**
 * Asks the server for a sign of life over a connection of its own, which no other statement can delay. For one asker
 * at a time.
 */
export class Probe implements AsyncDisposable {
  readonly #session: pg.ClientConfig;
  readonly #prepare: PrepareSession;
  readonly #limitMs: number;
  #client: pg.Client | null = null;

  /** @param limitMs a connection, or an answer, that takes longer counts as no response */
  constructor(session: pg.ClientConfig, prepare: PrepareSession, limitMs: number) {
    this.#prepare = prepare;
    this.#session = { ...session, connectionTimeoutMillis: limitMs };
    this.#limitMs = limitMs;
  }

  /** Never rejects. */
  async answers(): Promise<boolean> {
    try {
      const client = this.#client ?? (await this.#connect());
      await runOn(client, { text: "select 1" }, this.#limitMs);
      return true;
    } catch (error) {
      this.#drop();
      return CROWDED.test(errorCode(error));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#drop();
  }

  async #connect(): Promise<pg.Client> {
    const client = new ServerClient(this.#session);
    this.#client = client;
    // It is noticed by the next question.
    client.on("error", () => undefined);
    await client.connect();
    await this.#prepare(client);
    return client;
  }

  /** Whoever does not answer is not waited for. */
  #drop(): void {
    if (this.#client !== null) void endClient(this.#client);
    this.#client = null;
  }
}
