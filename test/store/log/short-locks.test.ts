import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { ChannelId } from "../../../src/core/ids.ts";
import type { Digester } from "../../../src/store/compaction/extracts.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { beginTurn } from "../../support/turns.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

const MANY = 2000;
/** Rows that may be looked at, however many there are. */
const FEW = 50;

/** A channel with many memories, all proved by its second message. */
async function channelWithMemories(name: string): Promise<{ id: ChannelId; epoch: number }> {
  const channel = await weir.channel(name);
  for (const message of ["first", "second"])
    await weir.say(channel.id, message, { id: `${name}-${message}`, addressed: false });
  await weir.sql(
    `with m as (
       insert into memories (agent, scope, channel_id, type, subject, asserted_by, statement)
       select 'main', 'channel', $1, 'fact', 'Ann', 'Ann', 'Ann knows the number ' || n from generate_series(1, $2::integer) n
       returning id)
     insert into memory_sources (memory_id, channel_id, seq, quote) select id, $1, 2, 'second' from m`,
    channel.id,
    MANY,
  );
  return channel;
}

/** Rows of the memories that this connection has looked at lately: what it had before is in it. */
async function lookedAt(client: Queryable): Promise<number> {
  const [row] = await client.query<{ count: number }>(
    "",
    `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint as count
       from pg_stat_xact_user_tables where relname in ('memories', 'memory_sources')`,
  );
  return row?.count ?? NaN;
}

test("a commit finds out which memories are known already without a look at all of them", async () => {
  const { id } = await channelWithMemories("add");
  const add = async (client: Queryable, statement: string): Promise<number> => {
    const memory = {
      type: "fact",
      subject: "Ann",
      assertedBy: "Ann",
      statement,
      importance: 0.5,
      at: new Date(0),
      sources: [{ seq: 1, quote: "first" }],
    };
    const [row] = await client.query<{ id: number }>("", "select add_memory($1, null, $2) as id", [
      id,
      JSON.stringify(memory),
    ]);
    return row?.id ?? NaN;
  };
  await weir.db.transaction(async (client) => {
    const before = await lookedAt(client);
    const known = await add(client, "Ann knows: the number 7!");
    const fresh = await add(client, "Ann knows no number");
    assert.ok((await lookedAt(client)) - before < FEW);
    assert.equal(await add(client, "Ann knows no number."), fresh);
    assert.notEqual(known, fresh);
  });
  const [row] = await weir.sql<{ count: number }>(
    "select count(*) as count from memories where channel_id = $1",
    id,
  );
  assert.equal(row?.count, MANY + 1, "what was known has one more proof, and no double");
});

test("a deletion looks at the memories that the message proved, and at no others", async () => {
  const { id } = await channelWithMemories("delete");
  await weir.db.transaction(async (client) => {
    const before = await lookedAt(client);
    await client.query("", "select delete_message($1, 'delete-first')", [id]);
    assert.ok((await lookedAt(client)) - before < FEW);
  });
  await weir.store.log.delete(id, "delete-second", TEST_DIGESTER);
  const left = await weir.sql("select from memories where channel_id = $1", id);
  assert.equal(left.length, 0, "their only proof is gone");
});

test("a channel that is locked holds up no listened message of another", async () => {
  const ids = new Map<string, ChannelId>();
  for (const name of ["busy-1", "busy-2", "free", "locked"]) ids.set(name, (await weir.channel(name)).id);
  const listen = async (name: string): Promise<number> =>
    weir.say(ids.get(name) ?? assert.fail(), "by the way", { addressed: false });
  const unlock = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const holding = weir.db.transaction(async (client) => {
    await client.query("", "select from channels where id = $1 for no key update", [ids.get("locked")]);
    isLocked.resolve();
    await unlock.promise;
  });
  await isLocked.promise;
  // The first two have the writers; the other two go together behind them, and those after them as well.
  const others = [listen("busy-1"), listen("busy-2")];
  const waiting = listen("locked");
  await Promise.all([...others, listen("free")]);
  await Promise.all(["free", "busy-1", "busy-2"].map(listen));
  let isWritten = false;
  void waiting.then(() => (isWritten = true));
  await delay(20);
  assert.equal(isWritten, false);
  unlock.resolve();
  await holding;
  assert.equal(await waiting, 1);
});

/** A channel of twelve messages and three summaries, each of which has read the one before it, and so all that was said before. */
async function chain(
  name: string,
  say = async (id: ChannelId, _epoch: number, seq: number): Promise<unknown> =>
    weir.say(id, `word ${seq}`, { id: `${name}-${seq}`, addressed: false }),
): Promise<ChannelId> {
  const { id, epoch } = await weir.channel(name);
  for (let seq = 1; seq <= 12; seq++) await say(id, epoch, seq);
  for (let from = 1; from <= 9; from += 3) {
    const [job] = await weir.sql<{ id: number }>(
      "select id from begin_job($1, $2, 'leaf', 'background', $3, $4, 1, 100)",
      id,
      epoch,
      from,
      from + 2,
    );
    const summary = { kind: "model", text: `summary of ${from}`, tokens: 4, model: "m" };
    const result = JSON.stringify({ parts: [], memories: [], summary });
    await weir.sql("update jobs set state = 'staged', result = $2 where id = $1", job?.id, result);
    await weir.sql("select commit_job($1, 1)", job?.id);
  }
  return id;
}

test("what a deletion has replaced is not replaced again for a text that it cannot hold", async () => {
  const id = await chain("chain");
  let digests = 0;
  const digester: Digester = {
    ...TEST_DIGESTER,
    ofEntries: (...of) => {
      digests++;
      return TEST_DIGESTER.ofEntries(...of);
    },
  };
  await weir.store.log.delete(id, "chain-1", digester);
  assert.equal(digests, 3);
  await weir.store.log.delete(id, "chain-2", digester);
  assert.equal(digests, 4, "only the one that holds the second message");
  await weir.store.log.delete(id, "chain-8", digester);
  assert.equal(digests, 5);
});

test("nobody waits for the extracts of the summaries behind a deleted message", async () => {
  const id = await chain("behind");
  let said = 0;
  await weir.store.log.delete(id, "behind-1", {
    ...TEST_DIGESTER,
    ofEntries: async (entries, maxTokens) => {
      // Under the channel's lock this would wait for the deletion, which waits for it.
      if ((entries[0]?.seq ?? 0) > 3) said = await weir.say(id, "meanwhile", { addressed: false });
      return TEST_DIGESTER.ofEntries(entries, maxTokens);
    },
  });
  assert.equal(said, 14, "once for each of the two");
});

test("an extract that the deletion itself would outdate is not made ahead", async () => {
  const id = await chain("several");
  const made: number[] = [];
  const { seqs } = await weir.store.people.blank(id, ["several-1", "several-5"], {
    ...TEST_DIGESTER,
    ofEntries: async (entries, maxTokens) => {
      made.push(entries[0]?.seq ?? 0);
      return TEST_DIGESTER.ofEntries(entries, maxTokens);
    },
  });
  assert.deepEqual(seqs, [1, 5]);
  assert.deepEqual(made, [7, 1, 4], "the third one ahead, and each of them once");
});

test("what is edited while an extract is made ahead of a deletion is not in it, nor what a note says of the deleted message", async () => {
  const id = await chain("late", async (channel, epoch, seq) => {
    if (seq !== 8) return weir.say(channel, `word ${seq}`, { id: `late-${seq}`, addressed: false });
    // A turn has read the first message: a note tells of its edit, and the third summary covers that.
    await beginTurn(weir.store, { channel, epoch }, 1, 7);
    const edited = await weir.store.log.edit(channel, "late-1", "taken back", new Date(), TEST_DIGESTER);
    return assert.equal(edited.outcome, "noted");
  });
  let isChanged = false;
  await weir.store.log.delete(id, "late-1", {
    ...TEST_DIGESTER,
    ofEntries: async (entries, maxTokens) => {
      const extract = await TEST_DIGESTER.ofEntries(entries, maxTokens);
      if (entries[0]?.seq === 4 && !isChanged) {
        isChanged = true;
        await weir.store.log.edit(id, "late-5", "said otherwise", new Date(), TEST_DIGESTER);
      }
      return extract;
    },
  });
  assert.ok(isChanged);
  const texts = await weir.sql<{ text: string }>(
    "select text from summaries where channel_id = $1 order by from_seq",
    id,
  );
  assert.equal(texts.length, 3);
  const all = texts.map(({ text }) => text).join("\n");
  assert.doesNotMatch(all, /word [15]\b|taken back/);
  assert.match(texts[1]?.text ?? "", /word 4.*word 6/);
});
