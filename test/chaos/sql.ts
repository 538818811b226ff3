import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { findEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";

const INT8 = 20;
/** Reads what may be a seq or an id as a number. */
export const NUMBERS: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- pg's own signature takes any oid
    return oid === INT8 ? Number : pg.types.getTypeParser(oid, format === "binary" ? "binary" : "text");
  },
};

const PATIENCE_MS = 20_000;

/** The test's own connection to the daemon's Postgres, which comes and goes. Seqs and ids are read as numbers. */
export class Sql implements AsyncDisposable {
  readonly #dataDir: string;
  #client: pg.Client | null = null;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Waits for the server where it is away; a statement that fails on a cut connection is tried again. */
  async rows<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        const client = await this.#connected();
        return (await client.query<Row>(text, [...values])).rows;
      } catch (error) {
        const isRefused = error instanceof pg.DatabaseError && !/^(57P|08)/.test(error.code ?? "");
        await this.close();
        if (isRefused || performance.now() > deadline) throw error;
        await delay(20);
      }
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client;
    const connection = await findEmbeddedPostgres(this.#dataDir);
    if (connection === null) throw new Error("no Postgres runs on the data folder");
    const client = new pg.Client({ ...connection, application_name: "chaos", types: NUMBERS });
    client.on("error", () => {
      if (this.#client === client) this.#client = null;
    });
    await client.connect();
    this.#client = client;
    return client;
  }
}
