// proves: src/features/notes/note-store.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId, type ChannelId, type Owner } from "../../../src/core/ids.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";
import { openStore } from "../../store/open-store.ts";

/** Who takes texts back in a channel goes on to its threads; who writes in a thread asks what its channel has taken back. */

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const open = openStore(database.connection);
after(async () => open[Symbol.asyncDispose]());
const { store } = open;

async function room(name: string, parent?: string): Promise<Owner> {
  const channel = await store.channels.open({
    address: { platform: "test", name },
    kind: parent === undefined ? "channel" : "thread",
    workspace: "",
    agent: agentId("main"),
    ...(parent !== undefined && {
      place: { workspace: "", channel: name, parent: { id: parent, name: parent } },
    }),
  });
  return { channel, epoch: await store.channels.take(channel) };
}

interface Thread extends Owner {
  readonly turn: number;
}

/** What a turn in a thread writes; by the name of the function. */
const WRITES: Readonly<Record<string, (client: Queryable, thread: Thread) => Promise<unknown>>> = {
  add_note: async (client, { channel, epoch, turn }) =>
    client.query("", "select add_note($1, $2, $3, 'main', 'MEMORY.md', 'a line', 0)", [channel, epoch, turn]),
  add_reminder: async (client, { channel, epoch, turn }) =>
    client.query(
      "",
      `select add_reminder($1, $2, $3, null, '{"key": "k", "kind": "once", "text": "tea", "at": "2100-01-01", "now": "2099-01-01",
                           "time_zone": "UTC", "run": "r", "call_id": "c"}', 10, 10)`,
      [channel, epoch, turn],
    ),
  subagents_may_write: async (client, { channel, epoch }) =>
    client.query("", "select subagents_may_write($1, $2, 0)", [channel, epoch]),
};

for (const [name, write] of Object.entries(WRITES))
  test(`${name} in a thread and a deletion in its channel wait for each other in one order`, async () => {
    const yard = await room(`yard of ${name}`);
    const owner = await room(`thread of ${name}`, `yard of ${name}`);
    const seq = await open.say(owner.channel, "please");
    const turn = await store.turns.begin(owner, seq, seq);
    assert.ok(turn !== null);
    const lock = async (client: Queryable, channel: ChannelId): Promise<unknown> =>
      client.query("", "select lock_shown_in($1)", [channel]);
    const goOn = Promise.withResolvers<void>();
    const holds = Promise.withResolvers<void>();
    const deleting = open.db.transaction(async (client) => {
      await lock(client, yard.channel);
      holds.resolve();
      await goOn.promise;
      await lock(client, owner.channel);
    });
    await holds.promise;
    const pid = Promise.withResolvers<number>();
    let attempts = 0;
    const writing = open.db.transaction(async (client) => {
      attempts++;
      const [row] = await client.query<{ pid: number }>("", "select pg_backend_pid() as pid");
      pid.resolve(row?.pid ?? 0);
      await write(client, { ...owner, turn: turn.id });
    });
    const writer = await pid.promise;
    await until("the writer waits", async () => {
      const rows = await open.sql("select from pg_locks where pid = $1 and not granted", writer);
      return rows.length > 0;
    });
    goOn.resolve();
    await deleting;
    await writing;
    assert.equal(attempts, 1, "nobody was ended for the other's sake");
  });
