// proves: src/store/deletion/deletion-engine.ts, src/store/deletion/carriers/carriers.ts, src/store/deletion/deletions.ts, src/store/deletion/edits.ts
// Each carrier loses the words, in each way in which a message loses them.
import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { Retention } from "../../../../src/channel/retention.ts";
import type { ChannelId } from "../../../../src/core/ids.ts";
import { FEATURE_ROWS } from "../../../../src/features/stored.ts";
import { fileSigner } from "../../../../src/store/database/signing-key.ts";
import { createStore } from "../../../../src/store/store.ts";
import { createTestDatabase } from "../../../support/database.ts";
import { TEST_DIGESTER as digester } from "../../../support/digester.ts";
import { beginTurn } from "../../../support/turns.ts";
import { CARRIERS, carriersWith, WORDY_CARRIERS } from "../../carriers-with.ts";
import { openStore, SILENT } from "../../open-store.ts";
import { rememberIn } from "../../remember.ts";
import { rowsWith } from "../../rows-with.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const folder = mkdtempSync(path.join(tmpdir(), "weir-test-"));
after(() => rmSync(folder, { recursive: true }));
const store = createStore(weir.db, FEATURE_ROWS, { signer: fileSigner(folder) });

const SLICES = path.join(import.meta.dirname, "../../../features");

/** Tables with other texts: names, ids, settings, hashes, and what Weir itself wrote. */
const NO_WORDS = `
  active_skills channel_renames channels confirmed_names deliveries entry_prints gateway_logins gateway_sessions
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

/** A channel whose first message says one word, and the second another one; each carrier repeats both. */
async function plant(name: string): Promise<{ readonly id: ChannelId; readonly words: readonly string[] }> {
  const words = [`zxq${name}`, `vbk${name}`];
  const { id, epoch } = await weir.channel(name);
  const said = [`the code is ${words[0]} 774411`, `a boat called ${words[1]} 5151`];
  for (const [index, text] of said.entries())
    await weir.say(id, text, { id: `${name}-${index + 1}`, addressed: false });
  await weir.sql(
    `with made as (
       insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens)
       values ($1, 1, 1, 'model', $2, 60), ($1, 2, 2, 'model', $3, 60))
     update channels set covered_to = 2 where id = $1`,
    id,
    ...said.map((text) => `They met. Ann said: ${text}.`),
  );
  const owner = { channel: id, epoch };
  const asked = await weir.say(id, "what is it?", { id: `${name}-3` });
  const turn = await beginTurn(store, owner, asked, asked);
  const author = { id: "weir", name: "Weir", isBot: true };
  for (const [index, word] of words.entries()) {
    const call = { id: `call-${index}`, name: "open", arguments: JSON.stringify({ code: word }) };
    const result = {
      callId: call.id,
      tool: call.name,
      text: `${word} is open`,
      references: [],
      memories: [],
    };
    await store.log.appendTurnEntries(
      owner,
      { id: turn.id, after: asked },
      [
        { kind: "tool_call", text: "", calls: [call] },
        { kind: "tool_result", ...result },
      ],
      new Date(),
    );
    await weir.say(id, `ask for ${word}`, { id: `reminder/9${id}/${index}`, addressed: false, author });
    await rememberIn(weir, id, {
      subject: word,
      statement: `It is ${word}.`,
      sources: [{ seq: index + 1, quote: word }],
    });
    const of: Readonly<Record<string, unknown>> = { $channel: id, $turn: turn.id, $word: word, $n: index };
    await weir.db.script(ROWS.replaceAll(/\$\w+/g, (one) => String(of[one])));
  }
  await weir.sql(
    `insert into quotes (channel_id, seq, message_id, author_id, author_name, text, at, as_of)
     select $1, n, $2::text || '-' || n, 'u1', 'Ann', ($3::text[])[n], now(), now() from generate_series(1, 2) n`,
    id,
    name,
    words,
  );
  await weir.sql(
    `insert into jobs (channel_id, kind, tier, from_seq, to_seq, saw_from, state, result)
     values ($1, 'leaf', 'background', 3, 4, 1, 'staged', jsonb_build_object('summary', $2::text, 'memories', '[]'::jsonb))`,
    id,
    words.join(" "),
  );
  await weir.sql(
    `insert into context_records (turn_id, channel_id, at, seen_to, memories, content)
     values ($2, $1, now(), 3, '{}', jsonb_build_object('focus', $3::text))`,
    id,
    turn.id,
    words.join(" "),
  );
  await weir.sql("select index_entries($1, 1, 99)", id);
  return { id, words };
}

/** Rows of each slice, in $channel and of $turn, with $word; $n: which of the two words. */
const ROWS = globSync("*/carried-rows.sql", { cwd: SLICES })
  .map((file) => readFileSync(path.join(SLICES, file), "utf8"))
  .join("\n");

async function expire(): Promise<void> {
  const now = (): Date => at(31);
  const config = { textDays: 30, imageDays: 0 };
  await using retention = new Retention({ store: store.retention, now, log: SILENT }, config);
  await retention.sweep();
}

/** Carriers that keep the words of an edited message while the view shows what its model has read. */
const IN_VIEW = ["calls", "jobs", "questions", "summaries"].filter((name) => WORDY_CARRIERS.includes(name));
/** Carriers that are removed whole, with the words of other messages. */
const WHOLE = new Set(["context records", "jobs"]);

interface Way {
  readonly remove: (id: ChannelId, message: string) => Promise<unknown>;
  readonly isEdit?: true;
  readonly isExpired?: true;
}

const at = (days: number): Date => new Date(Date.now() + days * 24 * 60 * 60 * 1000);

const WAYS: Readonly<Record<string, Way>> = {
  "a deletion": { remove: async (id, message) => store.log.delete(id, message, digester) },
  "/forget": { remove: async (id, message) => store.people.blank(id, [message], digester) },
  "an edit": {
    remove: async (id, message) => store.log.edit(id, message, "never mind", at(0), digester),
    isEdit: true,
  },
  "an edit of remembered words": {
    remove: async (id, message) =>
      store.people.reword(id, { id: message, text: "never mind", at: at(0) }, null, digester),
    isEdit: true,
  },
  "the deletion of an expired text": {
    remove: async (id, message) => store.log.delete(id, message, digester),
    isExpired: true,
  },
  "the edit of an expired text": {
    remove: async (id, message) => store.log.edit(id, message, "never mind", at(32), digester),
    isExpired: true,
  },
};

for (const [index, [way, { remove, isEdit, isExpired }]] of Object.entries(WAYS).entries())
  test(`${way} removes the words from each carrier, and leaves those of another message`, async () => {
    const { id, words } = await plant(`way${index}`);
    const [removed = "", other = ""] = words;
    for (const word of words) assert.deepEqual(await carriersWith(weir, word), WORDY_CARRIERS, "planted");
    if (isExpired) await expire();
    await remove(id, `way${index}-1`);
    assert.deepEqual(await carriersWith(weir, removed), isEdit ? IN_VIEW : []);
    if (!isEdit) assert.deepEqual(await rowsWith(weir, removed), [], "no other table holds them");
    const kept = WORDY_CARRIERS.filter(
      (name) => (!WHOLE.has(name) || (isEdit && name === "jobs")) && !(isExpired && name === "quotes"),
    );
    assert.deepEqual(await carriersWith(weir, other), kept);
  });
