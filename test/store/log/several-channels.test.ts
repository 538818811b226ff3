// proves: migrations/0094_sets.sql
// One statement for several channels writes the rows that one for each of them writes.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import type { ChannelId, TurnId } from "../../../src/core/ids.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
// One connection, which keeps its plans.
const weir = openStore(database.connection, { maxConnections: 1 });
after(async () => {
  await weir[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
const CHANNELS = 4;
/** Rows of a large table. */
const MANY = 20_000;

interface Said {
  readonly id: number;
  readonly addressed: boolean;
  readonly data: "none" | "agent" | "quote";
}

interface Batch {
  readonly messages: readonly Said[];
  /** The claim with which a message would begin a turn. */
  readonly claim: "none" | "right" | "old epoch" | "old seq";
}

interface End {
  readonly entry: "none" | "answer" | "notice";
  readonly parts: number;
  readonly calls: number;
  readonly isDrafted: boolean;
}

interface Place {
  readonly channel: ChannelId;
  readonly epoch: number;
  readonly last: number;
}

const said: fc.Arbitrary<Said> = fc.record({
  id: fc.nat(6),
  addressed: fc.boolean(),
  data: fc.constantFrom("none", "none", "agent", "quote"),
});
const batch: fc.Arbitrary<Batch> = fc.record({
  messages: fc.array(said, { minLength: 1, maxLength: 4 }),
  claim: fc.constantFrom("none", "right", "right", "old epoch", "old seq"),
});
const end: fc.Arbitrary<End> = fc.record({
  entry: fc.constantFrom("none", "answer", "notice"),
  parts: fc.nat(2),
  calls: fc.nat(2),
  isDrafted: fc.boolean(),
});
/** What comes to each channel; null: nothing. */
const batches = fc.array(fc.option(batch), { minLength: CHANNELS, maxLength: CHANNELS });
const ends = fc.array(end, { minLength: CHANNELS, maxLength: CHANNELS });

const QUOTE = {
  id: "q",
  author_id: "v",
  author_name: "Ben",
  text: "quoted",
  at: "2026-11-01T09:00:00Z",
  as_of: "2026-11-01T09:00:00Z",
};
const DATA = { none: null, agent: { agent: "other" }, quote: { quote: QUOTE } };

let sets = 0;

/** Channels of which nothing is known yet. */
async function openChannels(): Promise<readonly ChannelId[]> {
  const set = ++sets;
  const opened = Array.from({ length: CHANNELS }, async (_, index) => weir.channel(`${set}-${index}`));
  return (await Promise.all(opened)).map(({ id }) => id).toSorted((one, other) => one - other);
}

async function placesOf(channels: readonly ChannelId[]): Promise<Place[]> {
  return weir.sql<{ channel: ChannelId; epoch: number; last: number }>(
    "select id as channel, epoch, last_seq as last from channels where id = any ($1) order by id",
    channels,
  );
}

function messageRecord({ id, addressed, data }: Said): Record<string, unknown> {
  return {
    message_id: `m${id}`,
    author_id: "u",
    author_name: "Ann",
    author_bot: false,
    text: `text of ${id}`,
    tokens: 5,
    at: "2026-11-01T10:00:00Z",
    addressed,
    reply_to: null,
    data: DATA[data],
  };
}

function batchRecord({ messages, claim }: Batch, { channel, epoch, last }: Place): Record<string, unknown> {
  const claimed = {
    epoch: claim === "old epoch" ? epoch - 1 : epoch,
    last: claim === "old seq" ? last - 1 : last,
  };
  return {
    channel,
    ...(claim === "none" ? { epoch: null, last: null } : claimed),
    messages: messages.map(messageRecord),
  };
}

const APPEND_ONE = `select a.seq, a.duplicate, a.due, a.turn_id is not null as begun
  from jsonb_to_recordset($1::jsonb->'messages') m (message_id text, author_id text, author_name text, author_bot boolean, text text,
         tokens integer, at timestamptz, addressed boolean, reply_to text, data jsonb)
 cross join lateral append_message(($1::jsonb->>'channel')::bigint, m.message_id, m.author_id, m.author_name, m.author_bot, m.text,
                                   m.tokens, m.at, m.addressed, m.reply_to, ($1::jsonb->>'epoch')::bigint,
                                   ($1::jsonb->>'last')::bigint, m.data) a`;
const APPEND_SOME = `select seq, duplicate, due, false as begun
  from append_messages(($1::jsonb->>'channel')::bigint, $1::jsonb->'messages')`;
const APPEND_ALL = "select batch, seq, duplicate, due, turn_id is not null as begun from append_batches($1)";

const SETTLE_ONE = `select t.entry_seq, jsonb_array_length(t.parts) as parts
  from jsonb_to_record($1) s (channel bigint, epoch bigint, turn bigint, state text, reason text, model_ms integer, at timestamptz,
                              entry jsonb, keys text[], calls jsonb)
 cross join lateral settle_turn(s.channel, s.epoch, s.turn, s.state, s.reason, s.model_ms, s.at, s.entry, s.keys, s.calls) t`;
const SETTLE_ALL =
  "select place, entry_seq, jsonb_array_length(parts) as parts from settle_turns($1) order by place";

/** What is appended to these channels, by one statement and by one each. */
async function append(
  all: readonly (Batch | null)[],
  channels: readonly ChannelId[],
  isTogether: boolean,
): Promise<unknown> {
  const places = await placesOf(channels);
  const records = all.flatMap((one, index) => {
    const place = places[index];
    return one === null || place === undefined ? [] : [batchRecord(one, place)];
  });
  if (isTogether) return weir.sql(APPEND_ALL, JSON.stringify(records));
  const rows: unknown[] = [];
  for (const [index, record] of records.entries()) {
    const isOne = Array.isArray(record["messages"]) && record["messages"].length === 1;
    const some = await weir.sql(isOne ? APPEND_ONE : APPEND_SOME, JSON.stringify(record));
    rows.push(...some.map((row) => ({ batch: index + 1, ...row })));
  }
  return rows;
}

let keys = 0;

/** Settles the turns that run in these channels, of which some have shown a piece. */
async function settle(
  all: readonly End[],
  channels: readonly ChannelId[],
  isTogether: boolean,
): Promise<unknown> {
  const records: unknown[] = [];
  for (const [index, { channel, epoch }] of (await placesOf(channels)).entries()) {
    const [turn] = await weir.sql<{ id: TurnId }>(
      "select id from turns where channel_id = $1 and state = 'running'",
      channel,
    );
    const one = all[index];
    if (turn === undefined || one === undefined) continue;
    if (one.isDrafted) await weir.store.deliveries.open({ channel, epoch }, turn.id, `key ${++keys}`);
    records.push(settlementRecord(one, { channel, epoch, turn: turn.id }));
  }
  if (isTogether) return weir.sql(SETTLE_ALL, JSON.stringify(records));
  const rows: unknown[] = [];
  for (const [index, record] of records.entries()) {
    const [row] = await weir.sql(SETTLE_ONE, JSON.stringify(record));
    rows.push({ place: index + 1, ...row });
  }
  return rows;
}

function settlementRecord(
  { entry, parts, calls }: End,
  { channel, epoch, turn }: { readonly channel: ChannelId; readonly epoch: number; readonly turn: TurnId },
): Record<string, unknown> {
  const call = {
    channel_id: channel,
    turn_id: turn,
    purpose: "turn",
    model: "m",
    outcome: "answered",
    estimated_tokens: 9,
    total_ms: 3,
  };
  const written = {
    kind: entry === "answer" ? "assistant" : "notice",
    text: "an answer",
    tokens: 3,
    data: null,
  };
  return {
    channel,
    epoch,
    turn,
    state: entry === "none" ? "skipped" : "answered",
    reason: entry === "none" ? "nothing to say" : null,
    model_ms: 12,
    at: "2026-11-01T11:00:00Z",
    entry: entry === "none" ? null : written,
    keys: Array.from({ length: entry === "none" ? 0 : parts }, () => `key ${++keys}`),
    calls: calls === 0 ? null : Array.from({ length: calls }, () => call),
  };
}

/** Their rows, without what tells alike channels apart. */
async function rowsOf(channels: readonly ChannelId[]): Promise<unknown[]> {
  const statements = [
    "select last_seq, settled_to, due_to, epoch from channels where id = $1",
    `select seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to, after_seq, epoch, data
       from entries where channel_id = $1 order by seq`,
    "select seq, message_id, text from quotes where channel_id = $1 order by seq",
    `select epoch, from_seq, to_seq, state, attempts, reason, model_ms, settled_at is null as runs
       from turns where channel_id = $1 order by id`,
    `select part, epoch, entry_seq, drafted, message_id, state, reason from deliveries where channel_id = $1
      order by turn_id, part`,
    "select purpose, model, outcome, estimated_tokens, total_ms from model_calls where channel_id = $1 order by id",
  ];
  return Promise.all(
    channels.map(async (channel) => Promise.all(statements.map(async (text) => weir.sql(text, channel)))),
  );
}

test("messages and settlements of several channels become the rows that one channel at a time gets", async () => {
  const steps = fc.asyncProperty(batches, batches, ends, batches, async (first, second, settled, third) => {
    const [together, apart] = [await openChannels(), await openChannels()];
    const look = async (here: unknown, there: unknown): Promise<void> => {
      assert.deepEqual(here, there);
      assert.deepEqual(await rowsOf(together), await rowsOf(apart));
    };
    for (const all of [first, second])
      await look(await append(all, together, true), await append(all, apart, false));
    await look(await settle(settled, together, true), await settle(settled, apart, false));
    await look(await append(third, together, true), await append(third, apart, false));
  });
  await fc.assert(steps, { numRuns: 12 });
});

test("a statement that adds entries to several channels is refused if one of them is not the next, or not its owner's", async () => {
  const [one, other] = await openChannels();
  assert.ok(one !== undefined && other !== undefined);
  const insert = `insert into entries (channel_id, seq, kind, at, text, tokens, epoch)
    select c, s, 'notice', now(), 'n', 1, e from unnest($1::bigint[], $2::bigint[], $3::bigint[]) r (c, s, e)`;
  await weir.refuses("WE001", insert, [one, other], [1, 2], [1, 1]);
  await weir.refuses("WE001", insert, [one, other, other], [1, 1, 3], [1, 1, 1]);
  await weir.refuses("stale", insert, [one, other], [1, 1], [1, 0]);
  await weir.sql(insert, [one, other, other], [1, 1, 2], [1, 1, 1]);
  assert.deepEqual(
    (await placesOf([one, other])).map(({ last }) => last),
    [1, 2],
  );
});

test("a turn that is not running, or whose channel has a new owner, is left out, and the others are settled", async () => {
  const channels = await openChannels();
  const message: Batch = { messages: [{ id: 1, addressed: true, data: "none" }], claim: "right" };
  await append(
    channels.map(() => message),
    channels,
    true,
  );
  const turns = await weir.sql<{ id: TurnId; channel: ChannelId }>(
    "select id, channel_id as channel from turns where channel_id = any ($1) order by channel_id",
    channels,
  );
  const records = turns.map(({ id: turn, channel }) =>
    settlementRecord({ entry: "answer", parts: 1, calls: 1, isDrafted: false }, { channel, epoch: 1, turn }),
  );
  await weir.sql(SETTLE_ONE, JSON.stringify(records[0]));
  await weir.sql("update channels set epoch = 2 where id = $1", channels[1]);
  const settled = await weir.sql<{ place: number }>(SETTLE_ALL, JSON.stringify(records));
  assert.deepEqual(
    settled.map(({ place }) => place),
    [3, 4],
  );
  await weir.refuses("WE001", SETTLE_ONE, JSON.stringify(records[0]));
  await weir.refuses("stale", SETTLE_ONE, JSON.stringify(records[1]));
});

test("the index of several channels is that of each alone, with edits and deletions, a part at a time", async () => {
  const [together, apart] = [await openChannels(), await openChannels()];
  for (const channel of [...together, ...apart]) {
    for (let count = 1; count <= 5; count++)
      await weir.say(channel, `boat_${count} of src/tea_pot.ts is in IT`, {
        id: `i${count}`,
        at: new Date(count),
      });
    await weir.store.log.edit(channel, "i2", "the tea is ready", new Date(9), TEST_DIGESTER);
    await weir.store.log.delete(channel, "i4", TEST_DIGESTER);
  }
  await weir.store.search.indexAll(together, 3);
  const taken = await weir.store.search.indexAll(together, 3);
  assert.deepEqual(
    [...taken.values()],
    together.map(() => 2),
  );
  for (const channel of apart) await weir.store.search.indexAll([channel], 100);
  const index = async (channels: readonly ChannelId[]): Promise<unknown[]> =>
    Promise.all(
      channels.map(async (id) =>
        weir.sql(
          "select seq, body, tsv::text, line from entry_search where channel_id = $1 order by seq",
          id,
        ),
      ),
    );
  assert.deepEqual(await index(together), await index(apart));
});

/** Rows of tables and indexes that statements have read so far. */
async function readSoFar(): Promise<number> {
  await weir.sql("select pg_stat_force_next_flush()");
  const [row] = await weir.sql<{ read: number }>(
    `select ((select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables)
             + (select sum(idx_tup_read) from pg_stat_user_indexes))::float8 as read`,
  );
  return row?.read ?? 0;
}

/** Fills the tables with other channels, and these with long logs. */
async function fill(channels: readonly ChannelId[]): Promise<void> {
  await weir.db.script(`begin;
    set local session_replication_role = replica;
    insert into channels (platform, name, kind, agent, last_seq) select 'many', n::text, 'dm', 'main', 1 from generate_series(1, ${MANY}) n;
    insert into context_voids (channel_id) select id from channels where platform = 'many';
    insert into search_progress (channel_id, indexed_to) select id, 1 from channels where platform = 'many';
    insert into turns (channel_id, epoch, from_seq, to_seq, state, settled_at)
      select id, 1, 1, 1, 'answered', now() from channels where platform = 'many';
    insert into deliveries (channel_id, turn_id, part, epoch, idempotency_key) select channel_id, id, 0, 1, 'many ' || id from turns
      where channel_id in (select id from channels where platform = 'many');
    insert into context_records (turn_id, channel_id, at, seen_to, memories, content)
      select id, channel_id, now(), 1, '{}', '{}' from turns where channel_id in (select id from channels where platform = 'many');
    insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, message_id)
      select id, last_seq + n, 'user', now(), 'x', 1, 'u', 'Ann', 'many ' || n from channels, generate_series(1, ${MANY / CHANNELS}) n
       where id in (${channels.join()});
    insert into entry_search (channel_id, seq, body, tsv) select channel_id, seq, 'x', '' from entries where message_id like 'many %';
    insert into memories (agent, scope, channel_id, type, subject, statement, asserted_by)
      select 'main', 'channel', ${channels[0]}, 'fact', '', 'statement ' || n, 'Ann' from generate_series(1, ${MANY}) n;
    update channels set last_seq = last_seq + ${MANY / CHANNELS} where id in (${channels.join()});
    update search_progress p set indexed_to = c.last_seq from channels c where c.id = p.channel_id;
    commit`);
}

test("no plan reads a table as a whole, made while the tables were small, large or counted", async () => {
  const channels = await openChannels();
  const round = async (id: number): Promise<void> => {
    const message: Batch = { messages: [{ id, addressed: true, data: "none" }], claim: "right" };
    await append(
      channels.map(() => message),
      channels,
      true,
    );
    await settle(
      channels.map(() => ({ entry: "answer", parts: 1, calls: 1, isDrafted: false })),
      channels,
      true,
    );
    await weir.sql(
      `select * from keep_context_records((select jsonb_agg(jsonb_build_object('channel', t.channel_id, 'turn', t.id, 'at', now(),
                'seen_to', 1, 'answered', jsonb_build_array(jsonb_build_array(1, md5('text of 0'))),
                'content', '{"recalled": {"entries": [], "memories": [1, 2]}}'::jsonb)) from turns t where t.channel_id = any ($1)), 20)`,
      channels,
    );
    await weir.store.search.indexAll(channels, 100);
  };
  await round(0);
  await fill(channels);
  for (const [id, before] of ["select 1", "discard plans", "analyze; discard plans"].entries()) {
    await weir.db.script(before);
    await round(10 + id);
    const from = await readSoFar();
    await round(20 + id);
    const read = (await readSoFar()) - from;
    assert.ok(read < MANY / CHANNELS, `${read} rows were read after "${before}"`);
  }
});

test("a channel without a place in the index is not locked before those in front of it, for which a deletion waits", async () => {
  const [before, fresh] = await openChannels();
  assert.ok(before !== undefined && fresh !== undefined);
  await weir.say(before, "a boat");
  await weir.say(fresh, "a boat");
  await weir.store.search.indexAll([before], 10);
  await using other = openStore(database.connection);
  const indexed = await other.db.transaction(async (client) => {
    await client.query("", "select lock_search($1)", [before]);
    const running = weir.store.search.indexAll([fresh, before], 10);
    await until("the indexer waits", async () => {
      const waiting = await other.sql(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return waiting.length > 0;
    });
    await client.query("", "select lock_search($1)", [fresh]);
    return { running };
  });
  assert.deepEqual(
    [...(await indexed.running)],
    [
      [before, 0],
      [fresh, 1],
    ],
  );
  // The victim of one would be asked again, and find the same.
  assert.deepEqual(
    await other.sql("select deadlocks::int from pg_stat_database where datname = current_database()"),
    [{ deadlocks: 0 }],
  );
});
