// proves: src/store/deletion/fingerprints.ts, src/store/deletion/recovered-terms.ts, src/features/questions/carrier.ts, src/store/deletion/remaining-terms.ts
// The deletion of a message whose text has expired removes what repeats it, and nothing else.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { Retention } from "../../../src/channel/retention.ts";
import { OperatorError } from "../../../src/core/errors.ts";
import type { ChannelId, Owner } from "../../../src/core/ids.ts";
import { TAKEN_OUT } from "../../../src/store/deletion/carriers/summaries.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { fileSigner, signingKeyFile } from "../../../src/store/database/signing-key.ts";
import { createStore, type Store } from "../../../src/store/store.ts";
import type { RunningTurn } from "../../../src/store/turns/turn-rows.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { until } from "../../support/patience.ts";
import { answered, beginTurn } from "../../support/turns.ts";
import { openStore, SILENT } from "../open-store.ts";
import { rememberIn } from "../remember.ts";
import { rowsWith } from "../rows-with.ts";
import { FEATURE_ROWS } from "../../../src/features/stored.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const folder = mkdtempSync(path.join(tmpdir(), "weir-test-"));
after(() => rmSync(folder, { recursive: true }));
const store = createStore(weir.db, FEATURE_ROWS, { signer: fileSigner(folder) });

const LATER = (): Date => new Date(Date.now() + 31 * 24 * 60 * 60 * 1000);

/** What is said first in each channel here. */
const SECRET = "the quernstone is Ruperts, safe 774411";

interface Told {
  readonly id: ChannelId;
  readonly owner: Owner;
  /** Of the seventh message, which is not covered. */
  readonly turn: RunningTurn;
}

/** Six messages, of which each two have a summary, and a turn that answers a seventh one. */
async function tell(
  name: string,
  {
    lines = [],
    summaries = [],
    edits = {},
    asWork = {},
  }: {
    readonly lines?: readonly string[];
    readonly summaries?: readonly string[];
    /** What messages say before they are summarised. */
    readonly edits?: Readonly<Record<number, string>>;
    /** Messages that are work of Weir's own, by the ids that they have. */
    readonly asWork?: Readonly<Record<number, string>>;
  } = {},
): Promise<Told> {
  const { id, epoch } = await weir.channel(name);
  for (let n = 1; n <= 6; n++)
    await weir.say(id, lines[n - 1] ?? (n === 1 ? SECRET : `we rowed ${n} miles`), {
      id: asWork[n] ?? `${name}-${n}`,
      addressed: false,
      ...(asWork[n] !== undefined && { author: { id: "weir", name: "Weir", isBot: true } }),
    });
  for (const [n, text] of Object.entries(edits))
    await store.log.edit(id, `${name}-${n}`, text, new Date(), TEST_DIGESTER);
  for (const [index, from] of [1, 3, 5].entries())
    await weir.sql(
      `with made as (
         insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, live, saw_from)
         values ($1, $2, $3, 1, 'model', $4, 60, true, 1))
       update channels set covered_to = $3 where id = $1`,
      id,
      from,
      from + 1,
      summaries[index] ?? "They rowed.",
    );
  const asked = await weir.say(id, lines[6] ?? "and now?", { id: `${name}-7` });
  const owner = { channel: id, epoch };
  return { id, owner, turn: await beginTurn(store, owner, asked, asked) };
}

async function expire(by: Store = store): Promise<void> {
  await using retention = new Retention(
    { store: by.retention, now: LATER, log: SILENT },
    { textDays: 30, imageDays: 0 },
  );
  await retention.sweep();
}

async function textsOf(channel: ChannelId): Promise<string[]> {
  const rows = await weir.sql<{ text: string }>(
    "select text from entries where channel_id = $1 order by seq",
    channel,
  );
  return rows.map(({ text }) => text);
}

async function summariesOf(channel: ChannelId): Promise<string[]> {
  const rows = await weir.sql<{ text: string }>(
    "select text from summaries where channel_id = $1 order by from_seq, id",
    channel,
  );
  return rows.map(({ text }) => text);
}

async function printsOf(channel: ChannelId): Promise<number[]> {
  const rows = await weir.sql<{ seq: number }>(
    "select seq from entry_prints where channel_id = $1 order by seq",
    channel,
  );
  return rows.map(({ seq }) => seq);
}

const remove = async (id: ChannelId, message: string, by: Store = store): Promise<unknown> =>
  by.log.delete(id, message, TEST_DIGESTER);

test("each expired text leaves fingerprints, which are deleted with their message and contain no word", async () => {
  const { id } = await tell("prints");
  await expire();
  assert.deepEqual((await textsOf(id)).slice(0, 6), ["", "", "", "", "", ""]);
  assert.deepEqual(await printsOf(id), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(await rowsWith(weir, "quernstone"), []);
  const [row] = await weir.sql<{ said: Buffer }>(
    "select said from entry_prints where channel_id = $1 and seq = 1",
    id,
  );
  // quernstone, rupert, safe, 774411
  assert.equal(row?.said.length, 4 * 8);
  await remove(id, "prints-1");
  assert.deepEqual(await printsOf(id), [2, 3, 4, 5, 6]);
});

test("the same words have other fingerprints in another channel", async () => {
  const [one, other] = [await tell("one"), await tell("other")];
  await expire();
  const rows = await weir.sql<{ said: Buffer }>(
    "select said from entry_prints where channel_id in ($1, $2) and seq = 1",
    one.id,
    other.id,
  );
  const [first = new Set(), second = new Set()] = rows.map(
    ({ said }) => new Set<string>(said.toString("hex").match(/.{16}/g)),
  );
  assert.equal(first.size, 4);
  assert.ok(first.isDisjointFrom(second));
});

test("a summary that cannot be written again loses the sentences that repeat the text, and says so", async () => {
  const { id } = await tell("summaries", {
    summaries: [
      "The quernstone belongs to Rupert. They rowed.",
      "They rowed to the weir.\n- The quernstone was not sold.\n- It rained.",
      "The regatta was won. Code 774411 was used again. Ann cooked soup.",
    ],
  });
  await expire();
  await remove(id, "summaries-1");
  assert.deepEqual(await summariesOf(id), [
    `They rowed.\n${TAKEN_OUT}`,
    `They rowed to the weir.\n- It rained.\n${TAKEN_OUT}`,
    `The regatta was won. Ann cooked soup.\n${TAKEN_OUT}`,
  ]);
  // What nothing tells of leaves them as they are.
  await remove(id, "summaries-2");
  assert.match((await summariesOf(id))[1] ?? "", /They rowed to the weir/);
});

test("a summary keeps what another message says: a word anywhere that it may have read, a number only in its range", async () => {
  const { id } = await tell("others", {
    lines: [
      SECRET,
      "safe 774411, again",
      "the quernstone is heavy",
      "so it is",
      "the quernstone, the quernstone",
      "home",
    ],
    summaries: [
      "The safe has the code 774411.",
      "The quernstone is heavy. The code is 774411.",
      "The quernstone.",
    ],
  });
  await expire();
  await remove(id, "others-1");
  assert.deepEqual(await summariesOf(id), [
    "The safe has the code 774411.",
    `The quernstone is heavy.\n${TAKEN_OUT}`,
    "The quernstone.",
  ]);
  await remove(id, "others-2");
  assert.deepEqual((await summariesOf(id))[0], TAKEN_OUT);
});

test("memories that repeat the text are removed, and those that another message proves stay, also if its text has expired", async () => {
  const { id } = await tell("memories", {
    lines: [
      SECRET,
      "remember that",
      "the sluice leaks",
      "the sluice is shut",
      "the boat 4142",
      "boat 4142 again",
    ],
  });
  const remember = async (statement: string, ...seqs: readonly number[]): Promise<void> => {
    await rememberIn(weir, id, { statement, sources: seqs.map((seq) => ({ seq, quote: "so" })) });
  };
  await remember("Rupert has the quernstone.", 2);
  await remember("The sluice leaks.", 4);
  await remember("The boat has 4142.", 6);
  await weir.sql("update memories set read_from = 1, read_to = 6 where channel_id = $1", id);
  await expire();
  for (const n of [1, 3, 5]) await remove(id, `memories-${n}`);
  const statements = await weir.sql<{ statement: string }>(
    "select statement from memories where channel_id = $1 order by id",
    id,
  );
  assert.deepEqual(
    statements.map(({ statement }) => statement),
    ["The boat has 4142."],
    "leaks is said by nobody any more",
  );
});

/** Calls that are allowed from now on, of the turn that has answered the seventh message, and whose texts may go. */
async function allow(name: string, { id, owner, turn }: Told, ...texts: readonly string[]): Promise<void> {
  await store.turns.settle(owner, turn, answered(name), new Date());
  await weir.sql(
    `with made as (
       insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, live) values ($1, 7, 8, 1, 'model', 'so', 60, true))
     update channels set covered_to = 8 where id = $1`,
    id,
  );
  for (const [index, text] of texts.entries())
    await weir.sql(
      `with asked as (
         insert into approvals (channel_id, turn_id, call_id, agent, tool, arguments, fingerprint, state, expires_at)
         values ($1, $2, $3, 'main', 'open', $4, $3, 'done', now()) returning id)
       insert into approval_rules (channel_id, agent, tool, arguments, fingerprint, approval_id)
       select $1, 'main', 'open', $4, $3, id from asked`,
      id,
      turn.id,
      `call-${index}`,
      JSON.stringify({ text }),
    );
}

async function rulesOf(channel: ChannelId): Promise<string[]> {
  const rows = await weir.sql<{ arguments: string }>(
    "select arguments from approval_rules where channel_id = $1 order by id",
    channel,
  );
  return rows.map((rule) => String(JSON.parse(rule.arguments).text));
}

test("an approval rule whose call has expired ends where it repeats a message that is deleted or edited", async () => {
  const told = await tell("rules", {
    lines: [SECRET, "the gate is 5151", "so", "so", "so", "9090 it is", "open 9090"],
  });
  const { id } = told;
  await allow("rules", told, "safe 774411", "9090", "the weather", "5151");
  await expire();
  assert.deepEqual(await rulesOf(id), ["safe 774411", "9090", "the weather", "5151"]);
  assert.deepEqual(await weir.sql("select distinct arguments from approvals where channel_id = $1", id), [
    { arguments: "" },
  ]);
  await remove(id, "rules-1");
  assert.deepEqual(await rulesOf(id), ["9090", "the weather", "5151"]);
  await store.log.edit(id, "rules-2", "the gate is shut", LATER(), TEST_DIGESTER);
  assert.deepEqual(await rulesOf(id), ["9090", "the weather"]);
  await remove(id, "rules-6");
  assert.deepEqual(
    await rulesOf(id),
    ["9090", "the weather"],
    "the call's turn has answered who said it, too",
  );
});

test("a question that outlives its call loses what repeats a message that is deleted", async () => {
  const { id, owner, turn } = await tell("outlived", {
    lines: [SECRET, "so", "so", "so", "so", "so", "open it"],
  });
  const calls = [
    { id: "call-0", name: "open", arguments: '{"text":"safe 774411"}' },
    { id: "call-1", name: "open", arguments: '{"text":"the weather"}' },
  ];
  await store.log.appendTurnEntries(
    owner,
    { id: turn.id, after: 7 },
    [{ kind: "tool_call", text: "", calls }],
    new Date(),
  );
  for (const call of calls)
    await weir.sql(
      `insert into approvals (channel_id, turn_id, call_id, agent, tool, arguments, fingerprint, state, expires_at)
       values ($1, $2, $3, 'main', 'open', $4, $3, 'void', now())`,
      id,
      turn.id,
      call.id,
      call.arguments,
    );
  await store.turns.settle(owner, turn, answered("outlived"), new Date());
  // The message that the turn answers waits for its summary, and the call does not.
  await weir.sql(
    `with made as (
       insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, live, needs_redo)
       values ($1, 7, 7, 1, 'model', 'so', 60, true, true), ($1, 8, 8, 1, 'model', 'so', 60, true, false))
     update channels set covered_to = 8 where id = $1`,
    id,
  );
  await expire();
  assert.equal((await textsOf(id))[6], "open it");
  const left = async (): Promise<unknown> =>
    weir.sql("select arguments from approvals where channel_id = $1 order by id", id);
  assert.deepEqual(
    await left(),
    calls.map((call) => ({ arguments: call.arguments })),
  );
  await remove(id, "outlived-1");
  assert.deepEqual(await left(), [{ arguments: "" }, { arguments: calls[1]?.arguments }]);
});

test("an expired occurrence of a reminder is deleted with the message that asked for it, from summaries, too", async () => {
  const { id: channel } = await weir.channel("due");
  const [reminder] = await weir.sql<{ id: number }>(
    `insert into reminders (channel_id, time_zone, text, next_at, asked_key, asked_seq, read_to)
     values ($1, 'UTC', 'the heron', now() + interval '1 day', 'key', 1, 1) returning id`,
    channel,
  );
  const { id } = await tell("due", {
    lines: [SECRET, "so", "the heron", "so", "so", "so"],
    summaries: ["They rowed.", "They rowed.", "The heron came. They rowed."],
    asWork: { 3: `reminder/${reminder?.id}/1` },
  });
  await expire();
  assert.equal((await textsOf(id))[2], "");
  await remove(id, "due-1");
  const gone = await weir.sql<{ seq: number }>(
    "select seq from entries where channel_id = $1 and deleted_at is not null order by seq",
    id,
  );
  assert.deepEqual(
    gone.map(({ seq }) => seq),
    [1, 3],
  );
  assert.equal((await summariesOf(id)).at(-1), `They rowed.\n${TAKEN_OUT}`);
  assert.deepEqual(await printsOf(id), [2, 4, 5, 6]);
});

test("an expired hand-off that repeats a message is deleted with it", async () => {
  for (const change of ["deletion", "edit"]) {
    const name = `handed-${change}`;
    const { id } = await tell(name, {
      lines: [SECRET, "so", "About the quernstone", "so", "About the boat", "so"],
      summaries: ["They met.", "They met.", "The quernstone. They met."],
      asWork: { 3: "handoff/900000001/second", 5: "handoff/900000002/second" },
    });
    if (change === "edit")
      await weir.sql("update summaries set needs_redo = true where channel_id = $1 and from_seq = 1", id);
    await expire();
    assert.deepEqual(await printsOf(id), change === "edit" ? [3, 4, 5, 6] : [1, 2, 3, 4, 5, 6]);
    if (change === "edit") await store.log.edit(id, `${name}-1`, "never mind", LATER(), TEST_DIGESTER);
    else await remove(id, `${name}-1`);
    assert.deepEqual(await printsOf(id), change === "edit" ? [4, 5, 6] : [2, 4, 5, 6]);
  }
});

test("the words of a message before its edit count as removed", async () => {
  const { id } = await tell("edited", {
    lines: ["so", "the stork", "the gate is shut", "the swan", "the heron", "so"],
    edits: { 2: "the heron", 5: "the swan", 4: "so" },
    summaries: ["They rowed.", "They rowed.", "The heron came. The swan left. They rowed."],
  });
  await expire();
  await remove(id, "edited-2");
  assert.equal(
    (await summariesOf(id)).at(-1),
    `The swan left. They rowed.\n${TAKEN_OUT}`,
    "whoever said it once says something else now",
  );
  await remove(id, "edited-5");
  assert.equal((await summariesOf(id)).at(-1), `They rowed.\n${TAKEN_OUT}`);
});

test("without the key of its fingerprints, everything that may repeat the text is removed", async () => {
  const { id } = await tell("no-key", {
    summaries: ["The quernstone belongs to Rupert.", "They rowed to the weir.", "The regatta was won."],
  });
  await expire();
  const other = mkdtempSync(path.join(tmpdir(), "weir-test-"));
  const strange = createStore(weir.db, FEATURE_ROWS, { signer: fileSigner(other) });
  try {
    assert.equal(await store.retention.countStrange(), 0);
    assert.ok((await strange.retention.countStrange()) >= 6);
    await remove(id, "no-key-1", strange);
  } finally {
    rmSync(other, { recursive: true });
  }
  assert.deepEqual(await summariesOf(id), [TAKEN_OUT, TAKEN_OUT, TAKEN_OUT]);
  assert.deepEqual(await printsOf(id), [2, 3, 4, 5, 6]);
});

test("a key that cannot be read refuses the deletion", async () => {
  const { id } = await tell("unread", { summaries: ["The quernstone. They rowed."] });
  await expire();
  const other = mkdtempSync(path.join(tmpdir(), "weir-test-"));
  const unread = createStore(weir.db, FEATURE_ROWS, { signer: fileSigner(other) });
  try {
    for (const make of [
      () => mkdirSync(signingKeyFile(other)),
      () => writeFileSync(signingKeyFile(other), "half"),
    ]) {
      make();
      await assert.rejects(remove(id, "unread-1", unread), OperatorError);
      await assert.rejects(unread.retention.countStrange(), OperatorError);
      rmSync(signingKeyFile(other), { recursive: true });
    }
    assert.deepEqual((await summariesOf(id))[0], "The quernstone. They rowed.");
    copyFileSync(signingKeyFile(folder), signingKeyFile(other));
    await remove(id, "unread-1", unread);
  } finally {
    rmSync(other, { recursive: true });
  }
  assert.deepEqual(await summariesOf(id), [`They rowed.\n${TAKEN_OUT}`, "They rowed.", "They rowed."]);
});

test("of several messages, only those with fingerprints of another key count as having said anything", async () => {
  const { id } = await tell("mixed", {
    summaries: ["They rowed to the weir.", "The quernstone. They swam.", "The regatta was won."],
  });
  await expire();
  await weir.sql("update entry_prints set key_id = 'another' where channel_id = $1 and seq = 5", id);
  await store.people.blank(id, ["mixed-1", "mixed-5"], TEST_DIGESTER);
  assert.deepEqual(await summariesOf(id), ["They rowed to the weir.", `They swam.\n${TAKEN_OUT}`, TAKEN_OUT]);
});

test("no text expires without a key, nor one that was edited meanwhile", async () => {
  const { id } = await tell("edited-between");
  await expire(createStore(weir.db, FEATURE_ROWS));
  assert.equal((await textsOf(id))[0], SECRET);
  const { retention } = store;
  const found = await retention.nextTexts(id, LATER(), 500, { isReset: false, from: 0, summary: 0 });
  assert.ok(found !== undefined);
  const query = weir.db.query.bind(weir.db);
  const late = Object.assign(Object.create(weir.db), {
    async query(...asked: Parameters<typeof query>) {
      const rows = await query(...asked);
      if (asked[0] === "retention_messages")
        await store.log.edit(id, "edited-between-1", "the heron", new Date(), TEST_DIGESTER);
      return rows;
    },
  });
  const { retention: between } = createStore(late, FEATURE_ROWS, { signer: fileSigner(folder) });
  assert.equal(await between.expireTexts(id, found), null);
  assert.notEqual((await textsOf(id))[0], "");
});

test("an edit of an expired text counts as a deletion; an old edit, which a catch-up repeats, as nothing", async () => {
  const { id } = await tell("late", { summaries: ["The quernstone belongs to Rupert. They rowed."] });
  await expire();
  const old = await store.log.edit(id, "late-1", "the pelican", new Date(0), TEST_DIGESTER);
  assert.equal(old.outcome, "unchanged");
  const news = await store.log.edit(id, "late-1", "the pelican", LATER(), TEST_DIGESTER);
  assert.deepEqual(news, { outcome: "replaced", seq: 1, isDeleted: true });
  assert.deepEqual(await rowsWith(weir, "pelican"), []);
  assert.equal((await summariesOf(id))[0], `They rowed.\n${TAKEN_OUT}`);
  assert.deepEqual(await printsOf(id), [2, 3, 4, 5, 6]);
});

test("an edit of an expired text that changes none of its terms removes nothing", async () => {
  const { id } = await tell("same", { summaries: ["The quernstone belongs to Rupert. They rowed."] });
  await expire();
  const said = (text: string) => store.log.edit(id, "same-1", text, LATER(), TEST_DIGESTER);
  for (const text of [SECRET, `${SECRET}!`])
    assert.deepEqual(await said(text), { outcome: "unchanged", seq: 1 });
  assert.match((await summariesOf(id))[0] ?? "", /quernstone/);
  assert.deepEqual(await said("the quernstone is Ruperts"), { outcome: "replaced", seq: 1, isDeleted: true });
  assert.equal((await summariesOf(id))[0], `They rowed.\n${TAKEN_OUT}`);
});

test("an edit is not lost if the text expires while the edit waits", async () => {
  const { id } = await tell("race", { summaries: ["The quernstone belongs to Rupert. They rowed."] });
  const late = Object.assign(Object.create(weir.db), {
    query: weir.db.query.bind(weir.db),
    transaction: async (work: (client: Queryable) => Promise<unknown>) =>
      weir.db.transaction(async (client) => {
        const query: Queryable["query"] = async (...asked) => {
          if (asked[0] === "revise_message") await expire();
          return client.query(...asked);
        };
        return work({ ...client, query });
      }),
  });
  const between = createStore(late, FEATURE_ROWS, { signer: fileSigner(folder) });
  const edited = await between.log.edit(id, "race-1", "the pelican", LATER(), TEST_DIGESTER);
  assert.deepEqual(edited, { outcome: "replaced", seq: 1, isDeleted: true });
  assert.equal((await summariesOf(id))[0], `They rowed.\n${TAKEN_OUT}`);
});

/** The third summary keeps its texts and has read the second, which has lost them and tells of a message that the third has not read. */
async function reading(name: string): Promise<ChannelId> {
  const { id } = await tell(name, {
    summaries: [
      "They rowed.",
      "They rowed with the quernstone.",
      "The quernstone was in the boat. We rowed 5 miles.",
    ],
  });
  await weir.sql(
    "update summaries set needs_redo = (from_seq = 5), saw_from = least(from_seq, 3) where channel_id = $1",
    id,
  );
  await expire();
  assert.deepEqual((await textsOf(id)).slice(0, 6), ["", "", "", "", "we rowed 5 miles", "we rowed 6 miles"]);
  return id;
}

test("a summary whose texts are kept loses what it has read in one whose texts have expired", async () => {
  const id = await reading("readers");
  await remove(id, "readers-1");
  const [, second, third] = await summariesOf(id);
  assert.equal(second, TAKEN_OUT);
  assert.doesNotMatch(third ?? "", /quernstone/);
  assert.match(third ?? "", /rowed 5 miles/);
});

test("an edit of a text that is kept changes such a summary, too", async () => {
  const { id } = await tell("edit-readers", {
    summaries: ["They rowed.", "They rowed with the quernstone.", "The quernstone was in the boat."],
  });
  await weir.sql(
    "update summaries set needs_redo = (from_seq <> 3), saw_from = least(from_seq, 3) where channel_id = $1",
    id,
  );
  await expire();
  assert.deepEqual((await textsOf(id)).slice(0, 4), [SECRET, "we rowed 2 miles", "", ""]);
  await store.log.edit(id, "edit-readers-1", "so", LATER(), TEST_DIGESTER);
  const substitutes = await weir.sql<{ text: string }>(
    "select coalesce(substitute->>'text', text) as text from summaries where channel_id = $1 order by from_seq",
    id,
  );
  for (const { text } of substitutes) assert.doesNotMatch(text, /quernstone/);
});

test("under its lock a deletion searches only what has changed since its preparation", async () => {
  const { id, turn } = await tell("ahead", { summaries: ["The quernstone belongs to Rupert. They rowed."] });
  const note = async (text: string): Promise<unknown> =>
    weir.sql(
      "insert into notes (channel_id, turn_id, agent, file, text, read_to) values ($1, $2, 'main', 'notes.md', $3, 7)",
      id,
      turn.id,
      text,
    );
  await note("ask Rupert");
  await expire();
  const counts: number[] = [];
  const counting = (client: Queryable): Queryable["query"] => {
    return async (...asked) => {
      if (asked[0] === "texts_compared") counts.push((await client.query(...asked)).length);
      return client.query(...asked);
    };
  };
  const watched = Object.assign(Object.create(weir.db), {
    query: counting(weir.db),
    async transaction(work: (client: Queryable) => Promise<unknown>) {
      await note("the safe: 774411");
      return weir.db.transaction(async (client) => work({ query: counting(client) }));
    },
  });
  // Other tests have transactions on the same server, and nobody knows what those have changed that are still open.
  await until("what has changed so far counts as done", async () => {
    const [row] = await weir.sql<{ isDone: boolean }>(
      `select age(pg_snapshot_xmin(pg_current_snapshot())::xid) < min(age(xmin)) as is_done
         from (select xmin from notes where channel_id = $1 union all select xmin from summaries where channel_id = $1) rows`,
      id,
    );
    return row?.isDone === true;
  });
  await remove(id, "ahead-1", createStore(watched, FEATURE_ROWS, { signer: fileSigner(folder) }));
  assert.deepEqual(counts, [4, 1]);
  const notes = await weir.sql<{ text: string }>(
    "select text from notes where channel_id = $1 order by id",
    id,
  );
  assert.deepEqual(
    notes.map(({ text }) => text),
    ["", ""],
  );
  assert.equal((await summariesOf(id))[0], `They rowed.\n${TAKEN_OUT}`);
});
