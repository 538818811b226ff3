import assert from "node:assert/strict";
import { after } from "node:test";
import { pino } from "pino";
import { agentId, type ChannelId } from "../../src/core/ids.ts";
import type { InboundMessage } from "../../src/core/message.ts";
import { FEATURE_ROWS } from "../../src/features/stored.ts";
import { Database, type DatabaseOptions } from "../../src/store/database/database.ts";
import type { CamelRow, Connection } from "../../src/store/database/queryable.ts";
import type { Appended } from "../../src/store/log/message-rows.ts";
import type { TurnClaim } from "../../src/store/turns/turn-rows.ts";
import { createStore, type Store } from "../../src/store/store.ts";
import { createTestDatabase } from "../support/database.ts";

export const SILENT = pino({ level: "silent" });

/** The store over a test's database, and plain SQL beside it. */
export interface OpenStore extends AsyncDisposable {
  readonly db: Database;
  readonly store: Store;
  /** Runs one or several statements, in one transaction; its rows where it is one. */
  sql<Row extends Record<string, unknown> & CamelRow<Row>>(
    text: string,
    ...values: readonly unknown[]
  ): Promise<Row[]>;
  /** Fails unless the database refuses it with this SQLSTATE (`stale`: an old epoch). */
  refuses(code: string, text: string, ...values: readonly unknown[]): Promise<void>;
  /** A channel of its own, owned at epoch 1. */
  channel(name: string): Promise<{ readonly id: ChannelId; readonly epoch: number }>;
  append(
    channel: ChannelId,
    text: string,
    overrides?: Partial<InboundMessage>,
    beginner?: TurnClaim | null,
  ): Promise<Appended>;
  /** The same. @returns its seq */
  say(channel: ChannelId, text: string, overrides?: Partial<InboundMessage>): Promise<number>;
}

/** The store over a database of its own, until the end of the test file. */
export async function openTestStore(): Promise<OpenStore> {
  const database = await createTestDatabase();
  const open = openStore(database.connection);
  after(async () => {
    await open[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  return open;
}

export function openStore(connection: Connection, options: DatabaseOptions = {}): OpenStore {
  const db = new Database(connection, SILENT, options);
  const store = createStore(db, FEATURE_ROWS);
  let count = 0;
  const sql: OpenStore["sql"] = async (text, ...values) => db.query("", text, values);
  const append: OpenStore["append"] = async (channel, text, overrides = {}, beginner = null) => {
    count++;
    const message: InboundMessage = {
      type: "message",
      channel: { platform: "test", name: "unused" },
      kind: "channel",
      workspace: "",
      id: `m-${count}`,
      author: { id: "u-ann", name: "Ann", isBot: false },
      text,
      at: new Date(),
      addressed: true,
      ...overrides,
    };
    return store.log.appendMessage(channel, message, beginner);
  };
  return {
    db,
    store,
    sql,
    async refuses(code, text, ...values) {
      const work = values.length === 0 ? db.script(text) : sql(text, ...values);
      await assert.rejects(work, (error: unknown) => {
        assert.ok(error instanceof Error);
        const found =
          error.name === "StaleEpochError" ? "stale" : "code" in error ? error.code : error.message;
        assert.equal(found, code, error.message);
        return true;
      });
    },
    async channel(name) {
      const address = { platform: "test", name };
      const id = await store.channels.open({
        address,
        kind: "channel",
        workspace: "",
        agent: agentId("main"),
      });
      return { id, epoch: await store.channels.take(id) };
    },
    append,
    say: async (channel, text, overrides) => (await append(channel, text, overrides)).seq,
    [Symbol.asyncDispose]: async () => db[Symbol.asyncDispose](),
  };
}
