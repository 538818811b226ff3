// proves: src/store/deletion/deletion-engine.ts, src/store/deletion/carriers/carriers.ts, src/store/deletion/deletions.ts, src/store/deletion/edits.ts
// Each carrier loses the words, in each way in which a message loses them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { Retention } from "../../../../src/channel/retention.ts";
import { agentId, type ChannelId } from "../../../../src/core/ids.ts";
import { fileSigner } from "../../../../src/store/database/signing-key.ts";
import { CARRIERS } from "../../../../src/store/deletion/carriers/carriers.ts";
import { createStore } from "../../../../src/store/store.ts";
import { createTestDatabase } from "../../../support/database.ts";
import { TEST_DIGESTER as digester } from "../../../support/digester.ts";
import { beginTurn } from "../../../support/turns.ts";
import { carriersWith, WORDY_CARRIERS } from "../../carriers-with.ts";
import { openStore, SILENT } from "../../open-store.ts";
import { rememberIn } from "../../remember.ts";
import { rowsWith } from "../../rows-with.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const folder = mkdtempSync(path.join(tmpdir(), "weir-test-"));
after(() => rmSync(folder, { recursive: true }));
const store = createStore(weir.db, { signer: fileSigner(folder) });

/** Tables with other texts: names, ids, settings, hashes, and what Weir itself wrote. */
const NO_WORDS = `
  active_skills channels confirmed_names deliveries entry_prints gateway_logins gateway_sessions
  gateway_shard_counts gateway_shards heard_marks images learned_models members memory_rejections
  model_calls paired_people pairing_news pairing_requests partitions refused_fields requests
  run_commands schema_migrations shared_memories speakers turns vector_progress wish_refusals`;

test("each table that can hold a text is a carrier's, or one that holds no words of people", async () => {
  const tables = await weir.sql<{ name: string }>(
    `select distinct c.relname as name from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
        and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'json'::regtype, 'jsonb'::regtype, 'tsvector'::regtype)
      order by 1`,
  );
  const carried = new Set(CARRIERS.flatMap(({ texts }) => texts.map(({ table }) => table)));
  assert.deepEqual(
    tables.map(({ name }) => name).filter((name) => !carried.has(name)),
    NO_WORDS.trim().split(/\s+/),
  );
});

/** A channel whose first message says a secret word, which each carrier repeats. */
async function plant(name: string): Promise<{ readonly id: ChannelId; readonly word: string }> {
  const word = `zxq${name}`;
  const text = `the code is ${word} 774411`;
  const { id, epoch } = await weir.channel(name);
  await weir.say(id, text, { id: `${name}-1`, addressed: false });
  await weir.sql(
    `with made as (
       insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values ($1, 1, 1, 'model', $2, 60))
     update channels set covered_to = 1 where id = $1`,
    id,
    `They met. The code is ${word} 774411.`,
  );
  const owner = { channel: id, epoch };
  const asked = await weir.say(id, "what is the code?", { id: `${name}-2` });
  const turn = await beginTurn(store, owner, asked, asked);
  const call = { id: "call-1", name: "open", arguments: JSON.stringify({ code: word }) };
  const result = { callId: call.id, tool: call.name, text: `${word} is open`, references: [], memories: [] };
  await store.log.appendTurnEntries(
    owner,
    { id: turn.id, after: asked },
    [
      { kind: "tool_call", text: "", calls: [call] },
      { kind: "tool_result", ...result },
    ],
    new Date(),
  );
  const author = { id: "weir", name: "Weir", isBot: true };
  await weir.say(id, `ask for ${word} 774411`, { id: `reminder/9${id}/1`, addressed: false, author });
  await rememberIn(weir, id, { statement: text, sources: [{ seq: 1, quote: word }] });
  const of: Readonly<Record<string, unknown>> = { $channel: id, $turn: turn.id, $word: word };
  await weir.db.script(ROWS.replaceAll(/\$\w+/g, (one) => String(of[one])));
  return { id, word };
}

/** Rows of the carriers that are not written above, in $channel and of $turn, which tell $word. */
const ROWS = `
  insert into wishes (channel_id, seq, agent, act, topic, asker, wish, quote, at, key_id, signature)
  values ($channel, 1, 'main', 'want', 'tone', 'u-ann', 'say $word', '$word', now(), 'k', 's');
  insert into notes (channel_id, turn_id, agent, file, text, read_to)
  values ($channel, $turn, 'main', 'notes.md', 'code: $word', 2);
  insert into reminders (channel_id, time_zone, text, next_at, asked_key, asked_seq, turn_id, run, call_id, read_to)
  values ($channel, 'UTC', 'ask for $word', now() + interval '1 day', 'key', 2, $turn, 'r', 'c', 2);
  insert into subagents (channel_id, number, turn_id, epoch, agent, call_id, asked_seq, read_to, task, tools)
  values ($channel, 1, $turn, 1, 'main', 'call-2', 2, 2, 'find $word', '{}');
  with made as (
    insert into approvals (channel_id, turn_id, call_id, agent, tool, state, arguments, fingerprint, expires_at)
    values ($channel, $turn, 'call-1', 'main', 'open', 'done', '{"code":"$word"}', 'f', now()) returning id)
  insert into approval_rules (channel_id, agent, tool, arguments, fingerprint, approval_id)
  select $channel, 'main', 'open', '{"code":"$word"}', 'f', id from made;
  insert into jobs (channel_id, kind, tier, from_seq, to_seq, saw_from, state, result)
  values ($channel, 'leaf', 'background', 2, 3, 1, 'staged', '{"summary": {"text": "$word"}, "memories": []}');
  insert into context_records (turn_id, channel_id, at, seen_to, memories, content)
  values ($turn, $channel, now(), 2, '{}', '{"focus": ["$word"]}');
  select index_entries($channel, 1, 9)`;

async function expire(): Promise<void> {
  const now = (): Date => new Date(Date.now() + 31 * 24 * 60 * 60 * 1000);
  const config = { textDays: 30, imageDays: 0 };
  await using retention = new Retention({ store: store.retention, now, log: SILENT }, config);
  await retention.sweep();
}

/** Carriers that keep the words of an edited message while the view shows what its model has read. */
const IN_VIEW = ["approvals", "calls", "jobs", "summaries"];

interface Way {
  readonly remove: (id: ChannelId, message: string) => Promise<unknown>;
  /** Carriers that keep the words; default: none. */
  readonly left?: readonly string[];
}

const NEW_TEXT = "never mind";
const LATER = (): Date => new Date(Date.now() + 32 * 24 * 60 * 60 * 1000);

const WAYS: Readonly<Record<string, Way>> = {
  deletion: { remove: async (id, message) => store.log.delete(id, message, digester) },
  forget: { remove: async (id, message) => store.people.blank(id, [message], digester) },
  edit: {
    remove: async (id, message) => store.log.edit(id, message, NEW_TEXT, new Date(), digester),
    left: IN_VIEW,
  },
  rewording: {
    remove: async (id, message) =>
      store.people.reword(id, { id: message, text: NEW_TEXT, at: new Date() }, null, digester),
    left: IN_VIEW,
  },
  "deletion of an expired text": {
    async remove(id, message) {
      await expire();
      return store.log.delete(id, message, digester);
    },
  },
  "edit of an expired text": {
    async remove(id, message) {
      await expire();
      return store.log.edit(id, message, NEW_TEXT, LATER(), digester);
    },
  },
};

for (const [index, [way, { remove, left = [] }]] of Object.entries(WAYS).entries())
  test(`each carrier loses the words: ${way}`, async () => {
    const { id, word } = await plant(`way${index}`);
    assert.deepEqual(await carriersWith(weir, word), WORDY_CARRIERS, "each carrier holds them");
    await remove(id, `way${index}-1`);
    assert.deepEqual(await carriersWith(weir, word), left);
    if (left.length === 0) assert.deepEqual(await rowsWith(weir, word), [], "no other table holds them");
  });
