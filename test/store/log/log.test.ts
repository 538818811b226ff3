// proves: src/store/log/entry-rows.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { wholeTranscript } from "../../../src/compactor/summary/chunks.ts";
import { digestEntries } from "../../../src/context/digest.ts";
import { transcribe } from "../../../src/compactor/summary/transcript.ts";
import { createTimeFormat } from "../../../src/text/time.ts";
import { atOnce } from "../../support/at-once.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";
import { rowsWith } from "../rows-with.ts";
import { byWords } from "../../support/search-words.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { beginTurn } from "../../support/turns.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21, 12, 0, second));

test("many writers at once leave a dense log, each message in it once", async () => {
  const { id } = await weir.channel("parallel");
  const ids = Array.from({ length: 100 }, (_, index) => `p-${index}`);
  const seqs = await Promise.all(
    [...ids, ...ids].map(async (messageId) => weir.say(id, "x", { id: messageId })),
  );
  assert.equal(new Set(seqs).size, 100);
  const { history } = await store.load(id);
  assert.deepEqual(
    history.entries.map(({ seq }) => seq),
    Array.from({ length: 100 }, (_, index) => index + 1),
  );
});

test("a redelivered message says whether it still waits for a turn", async () => {
  const { id, epoch } = await weir.channel("redelivered");
  const message = { id: "d-1", addressed: true };
  await weir.say(id, "hello", message);
  assert.deepEqual(await redeliver(id, "d-1"), { duplicate: true, seq: 1, due: true });
  await store.channels.reset(id, epoch, 1);
  assert.deepEqual(await redeliver(id, "d-1"), { duplicate: true, seq: 1, due: false });
  await weir.say(id, "by the way", { id: "d-2", addressed: false });
  assert.deepEqual(await redeliver(id, "d-2"), { duplicate: true, seq: 2, due: false });
});

test("an edit that arrives late, again, or without a change is no edit", async () => {
  const { id } = await weir.channel("late-edit");
  await weir.say(id, "first", { id: "e-1", at: at(0) });
  const edit = async (text: string, second: number): Promise<string> =>
    (await store.log.edit(id, "e-1", text, at(second), TEST_DIGESTER)).outcome;
  assert.equal(await edit("first", 1), "unchanged", "an unfurl");
  assert.equal(await edit("second", 2), "replaced");
  assert.equal(await edit("third", 4), "replaced");
  assert.equal(await edit("second", 2), "unchanged", "a redelivery of what was edited since");
  assert.equal(await edit("between", 3), "unchanged", "it was overtaken by a newer one");
  assert.equal(await edit("third", 4), "unchanged");
  assert.equal(await edit("first", 5), "replaced", "back to what it was");
  const [entry] = await store.log.read(id, 1, 1);
  assert.equal(entry?.text, "first");
  const [row] = await weir.sql<{ count: number }>("select count(*) from revisions where channel_id = $1", id);
  assert.equal(row?.count, 3);
});

test("what a summary is made of has the newest text, also where the note of the last edit is behind it", async () => {
  const { id, epoch } = await weir.channel("edited-twice");
  await weir.say(id, "meet at five", { id: "t-1", at: at(0) });
  await beginTurn(store, { channel: id, epoch }, 1, 1);
  await store.log.edit(id, "t-1", "meet at zxqsix", at(1), TEST_DIGESTER);
  await weir.say(id, "fine", { id: "t-2" });
  await store.log.edit(id, "t-1", "meet at seven", at(2), TEST_DIGESTER);
  const current = await store.log.readCurrent(id, 1, 3);
  assert.deepEqual(
    current.map(({ text }) => text),
    ["meet at seven", "meet at seven", "fine"],
  );
  const time = createTimeFormat("UTC");
  const style = {
    agentName: "Weir",
    time,
    texts: { editNote: ({ text }: { text: string }) => text, absence: () => "", undelivered: () => "" },
  };
  assert.match(wholeTranscript(transcribe(current, style)), /^1\. .*Ann: meet at seven\n2\. .*Ann: fine$/);
  const frame = ({ lines }: { lines: string }): string => lines;
  const digest = atOnce(digestEntries(current, time, { maxTokens: 300, agentName: "Weir", frame }));
  assert.match(digest.text, /Ann: meet at seven/);
  assert.doesNotMatch(digest.text, /zxqsix/);
  // A turn goes on reading what it has read.
  assert.deepEqual(
    (await store.log.read(id, 1, 4)).map(({ text }) => text),
    ["meet at five", "meet at zxqsix", "fine", "meet at seven"],
  );
});

test("the same edit from many sides at once is one edit", async () => {
  const { id, epoch } = await weir.channel("same-edit");
  await weir.say(id, "first", { id: "s-1", at: at(0) });
  const turn = await beginTurn(store, { channel: id, epoch }, 1, 1);
  assert.equal(turn.toSeq, 1);
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, async () => store.log.edit(id, "s-1", "second", at(1), TEST_DIGESTER)),
  );
  assert.equal(outcomes.filter(({ outcome }) => outcome === "noted").length, 1);
  assert.equal(outcomes.filter(({ outcome }) => outcome === "unchanged").length, 7);
  const { history } = await store.load(id);
  assert.equal(history.lastSeq, 2);
});

test("an edit leaves nothing of the old text in the search index, the next message's part of it included", async () => {
  const { id } = await weir.channel("edited-index");
  await weir.say(id, "the word was zxqorange", { id: "i-1" });
  await weir.say(id, "indeed", { id: "i-2" });
  await store.search.indexAll([id], 100);
  await store.log.edit(id, "i-1", "the word was zxqpurple", new Date(), TEST_DIGESTER);
  const search = { pick: "'zxqorang'", terms: "'zxqorang'", to: 10, limit: 10 };
  assert.deepEqual(await byWords(weir.db, id, search), []);
  assert.deepEqual(
    await byWords(weir.db, id, { ...search, pick: "'zxqpurpl'", terms: "'zxqpurpl'" }),
    [1, 2],
  );
});

test("a deleted text is in no column of any row, its revisions and its neighbour's index included", async () => {
  const { id, epoch } = await weir.channel("deleted");
  await weir.say(id, "before", { id: "x-0" });
  await weir.say(id, "the code is zxqsecret", { id: "x-1", at: at(0) });
  await weir.say(id, "thanks", { id: "x-2" });
  await store.log.edit(id, "x-1", "the code is zxqsecret or zxqsecrets", at(1), TEST_DIGESTER);
  await store.turns.begin({ channel: id, epoch }, 1, 3);
  await store.log.edit(id, "x-1", "the code was zxqsecret", at(2), TEST_DIGESTER);
  await store.search.indexAll([id], 100);
  assert.deepEqual(await rowsWith(weir, "zxqsecret"), ["entries", "entry_search", "revisions"]);
  assert.equal(await store.log.delete(id, "x-1", TEST_DIGESTER), 2);
  assert.deepEqual(await rowsWith(weir, "zxqsecret"), []);
  assert.equal(await store.log.delete(id, "x-1", TEST_DIGESTER), undefined, "it is gone already");
  assert.equal((await store.log.edit(id, "x-1", "zxqsecret", at(3), TEST_DIGESTER)).outcome, "unknown");
  assert.deepEqual(await rowsWith(weir, "zxqsecret"), []);
});

test("a call that retells a text goes with the compaction of both, also where it came behind the text's edit", async () => {
  const { id, epoch } = await weir.channel("late-call");
  const owner = { channel: id, epoch };
  await weir.say(id, "the code is zxqearly", { id: "l-1", at: at(0), addressed: true });
  const turn = await beginTurn(store, owner, 1, 1);
  await store.log.edit(id, "l-1", "the code is open", at(1), TEST_DIGESTER);
  const call = { id: "c", name: "web", arguments: '{"query":"zxqearly"}' };
  const result = { kind: "tool_result", callId: "c", tool: "web", text: "zxqearly is a tree" } as const;
  await store.log.appendTurnEntries(
    owner,
    { id: turn.id, after: 1 },
    [
      { kind: "tool_call", text: "", calls: [call] },
      { ...result, references: [], memories: [] },
    ],
    at(2),
  );
  assert.deepEqual(await rowsWith(weir, "zxqearly"), ["entries"]);
  // One compaction takes the edit, the next one the call.
  for (const [fromSeq, toSeq] of [
    [1, 2],
    [3, 4],
  ] as const) {
    const plan = { kind: "leaf", tier: "background", level: 1, sourceTokens: 900, fromSeq, toSeq } as const;
    const job = await store.jobs.begin(owner, plan);
    const summary = { kind: "model", text: "They spoke.", tokens: 9, model: "small" } as const;
    await store.jobs.stage(job, { parts: [], memories: [], summary });
    assert.equal(await store.jobs.commit(job), "committed");
  }
  assert.deepEqual(await rowsWith(weir, "zxqearly"), []);
});

test("deletions and edits that race the indexer neither fail nor leave a word behind", async () => {
  const { id } = await weir.channel("racing");
  const count = 60;
  for (let index = 0; index < count; index++) await weir.say(id, `zxqrace ${index}`, { id: `r-${index}` });
  const outcomes: unknown[] = [];
  const indexing = (async () => {
    while (((await store.search.indexAll([id], 3)).get(id) ?? 0) > 0);
  })();
  const changes = Array.from({ length: count }, async (_, index) => {
    if (index % 3 === 0)
      outcomes.push(
        (await store.log.edit(id, `r-${index}`, "zxqrace edited", at(index), TEST_DIGESTER)).outcome,
      );
    outcomes.push(await store.log.delete(id, `r-${index}`, TEST_DIGESTER));
  });
  await Promise.all([...changes, indexing]);
  await store.search.indexAll([id], 1000);
  assert.equal(outcomes.length, count + count / 3);
  assert.deepEqual(await rowsWith(weir, "zxqrace"), []);
});

async function redeliver(channel: number, messageId: string): Promise<unknown> {
  const [row] = await weir.sql<{ seq: number; duplicate: boolean; due: boolean }>(
    "select seq, duplicate, due from append_message($1, $2, 'u', 'U', false, 'again', 1, now(), true, null)",
    channel,
    messageId,
  );
  return { ...row };
}
