import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { GuardedHistory } from "../../src/channel/guarded-history.ts";
import type { Entry } from "../../src/core/entry.ts";
import type { ChannelId } from "../../src/core/ids.ts";
import type { ChannelSnapshot } from "../../src/store/channels/snapshot.ts";
import { StaleEpochError } from "../../src/store/database/errors.ts";
import { NO_SIGNER } from "../../src/store/database/signing-key.ts";
import { LogStore } from "../../src/store/log/log.ts";
import { createStore } from "../../src/store/store.ts";
import { openStore } from "../store/open-store.ts";
import { createTestDatabase } from "../support/database.ts";
import { TEST_DIGESTER } from "../support/digester.ts";
import { beginTurn } from "../support/turns.ts";
import { FEATURE_ROWS } from "../../src/features/stored.ts";
import { ENGINE } from "../store/carriers-with.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

const SUMMARY = { kind: "model", text: "Ann counts boats.", tokens: 8, model: "test-model" } as const;

test("an edit of a text that a summary covers is in memory as it is in the rows: to be written again", async () => {
  const { id, epoch } = await weir.channel("edited");
  const owner = { channel: id, epoch };
  for (let number = 1; number <= 4; number++) await weir.say(id, `boat ${number}`, { id: `boat-${number}` });
  const turn = await beginTurn(store, owner, 1, 4);
  const settlement = {
    state: "skipped",
    reason: null,
    modelMs: 0,
    entry: null,
    idempotencyKeys: [],
  } as const;
  await store.turns.settle(owner, turn, settlement, new Date());
  const history = new GuardedHistory(store, owner, await store.load(id));
  const plan = { kind: "leaf", tier: "forced", fromSeq: 1, toSeq: 2, level: 1, sourceTokens: 40 } as const;
  const job = await store.jobs.begin(owner, plan);
  await store.jobs.stage(job, { parts: [], memories: [], summary: SUMMARY });
  assert.equal(await history.commit(job), "committed");
  assert.equal(history.current.summaries[0]?.needsRedo, false);

  const edited = await store.log.edit(id, "boat-1", "boat 7", new Date(), TEST_DIGESTER);
  assert.equal(edited.outcome, "noted");
  await history.noticeEdit(1, edited.outcome === "noted" ? edited.notedSeq : 0);
  assert.equal(history.current.summaries[0]?.needsRedo, true);
  assert.deepEqual(history.current, (await store.load(id)).history);

  // Of one that is still raw, no summary knows.
  const later = await store.log.edit(id, "boat-4", "boat 8", new Date(), TEST_DIGESTER);
  assert.equal(later.outcome, "noted");
  await history.noticeEdit(4, later.outcome === "noted" ? later.notedSeq : 0);
  assert.deepEqual(history.current, (await store.load(id)).history);

  // The note of the first edit is under a summary of its own, which holds the words that the second one takes back.
  const rest = { ...plan, fromSeq: 3, toSeq: 6 } as const;
  const behind = await store.jobs.begin(owner, rest);
  await store.jobs.stage(behind, { parts: [], memories: [], summary: SUMMARY });
  assert.equal(await history.commit(behind), "committed");
  const again = await store.log.edit(id, "boat-1", "boat 9", new Date(), TEST_DIGESTER);
  await history.noticeEdit(1, again.outcome === "noted" ? again.notedSeq : 0);
  assert.deepEqual(
    history.current.summaries.map(({ needsRedo }) => needsRedo),
    [true, true],
  );
  assert.deepEqual(history.current, (await store.load(id)).history);
});

test("what a tool quotes is in memory as it reads in the rows, also where it was edited before it was written down", async () => {
  const { id, epoch } = await weir.channel("quoted");
  const owner = { channel: id, epoch };
  for (let number = 1; number <= 3; number++) await weir.say(id, `mast ${number}`, { id: `mast-${number}` });
  const turn = await beginTurn(store, owner, 3, 3);
  const history = new GuardedHistory(store, owner, await store.load(id));
  const found = await store.attached.said(id, ["mast-1", "mast-2"]);
  const quoted = (): unknown =>
    history.current.entries.flatMap((entry) =>
      entry.kind === "tool_result" ? entry.references.map(({ text }) => text) : [],
    );

  await store.log.edit(id, "mast-1", "mast 8", new Date(), TEST_DIGESTER);
  const call = { id: "call-1", name: "search_history", arguments: "{}" };
  await history.appendTurnEntries(
    turn,
    [
      { kind: "tool_call", text: "", calls: [call] },
      {
        kind: "tool_result",
        callId: call.id,
        tool: call.name,
        text: "",
        references: [...found.values()],
        memories: [],
      },
    ],
    new Date(),
  );
  assert.deepEqual(quoted(), ["mast 8", "mast 2"]);
  assert.deepEqual(history.current, (await store.load(id)).history);

  const before = history.current.entries;
  const edited = await store.log.edit(id, "mast-2", "mast 9", new Date(), TEST_DIGESTER);
  assert.equal(edited.outcome, "noted");
  await history.noticeEdit(2, edited.outcome === "noted" ? edited.notedSeq : 0);
  assert.deepEqual(quoted(), ["mast 8", "mast 9"]);
  assert.deepEqual(history.current, (await store.load(id)).history);
  // All else is what it was, and is not rendered again.
  const kept = before.filter((entry) => history.current.entries.includes(entry));
  assert.equal(kept.length, before.length - 1);
});

test("what a tool quotes is in memory as it reads in the rows, also where its text went before it was written down", async () => {
  const { id, epoch } = await weir.channel("expired");
  const owner = { channel: id, epoch };
  for (let number = 1; number <= 4; number++)
    await weir.say(id, `keel ${number}`, { id: `keel-${number}`, addressed: number === 4 });
  const job = await store.jobs.begin(owner, {
    kind: "leaf",
    tier: "forced",
    fromSeq: 1,
    toSeq: 2,
    level: 1,
    sourceTokens: 40,
  });
  await store.jobs.stage(job, { parts: [], memories: [], summary: SUMMARY });
  assert.equal(await store.jobs.commit(job), "committed");
  const turn = await beginTurn(store, owner, 4, 4);
  const history = new GuardedHistory(store, owner, await store.load(id));
  const found = await store.attached.said(id, ["keel-1", "keel-3"]);

  const derive = async () => Promise.resolve({ keyId: "test", bytes: Buffer.alloc(32) });
  const { retention } = createStore(weir.db, FEATURE_ROWS, { signer: { ...NO_SIGNER, derive } });
  const old = await retention.nextTexts(id, new Date(Date.now() + 60_000), 100, {
    isReset: false,
    from: 0,
    summary: 0,
  });
  assert.ok(old !== undefined);
  assert.equal(await retention.expireTexts(id, old), 2);
  const call = { id: "call-1", name: "search_history", arguments: "{}" };
  const result = { kind: "tool_result", callId: call.id, tool: call.name, text: "", memories: [] } as const;
  await history.appendTurnEntries(
    turn,
    [
      { kind: "tool_call", text: "", calls: [call] },
      { ...result, references: [...found.values()] },
    ],
    new Date(),
  );
  assert.deepEqual(
    history.current.entries.flatMap((entry) =>
      entry.kind === "tool_result" ? entry.references.map(({ text }) => text) : [],
    ),
    ["(text no longer kept)", "keel 3"],
  );
  assert.deepEqual(history.current, (await store.load(id)).history);
});

/** A secret, a question, its running turn, and what its model calls with the secret's words. */
async function asked(name: string) {
  const { id, epoch } = await weir.channel(name);
  const owner = { channel: id, epoch };
  await weir.say(id, "my PIN is 774422", { id: `${name}-1`, addressed: false });
  await weir.say(id, "what is my PIN?", { id: `${name}-2` });
  const turn = await beginTurn(store, owner, 2, 2);
  const call = { id: "call-1", name: "search_history", arguments: '{"query":"PIN 774422"}' };
  const result = {
    kind: "tool_result",
    callId: call.id,
    tool: call.name,
    references: [],
    memories: [],
  } as const;
  const drafts = [
    { kind: "tool_call", text: "", calls: [call] },
    { ...result, text: "774422" },
  ] as const;
  const remove = async (): Promise<unknown> => store.log.delete(id, `${name}-1`, TEST_DIGESTER);
  return { id, owner, turn, drafts, remove };
}

/** Counts how often it is noted of which deletions a channel's owner knows. */
class NotingLog extends LogStore {
  noted = 0;
  /** The database does not answer. */
  isAway = false;

  override async knowDeletions(...known: Parameters<LogStore["knowDeletions"]>): Promise<boolean> {
    this.noted++;
    if (this.isAway) throw new Error("the database is away");
    return super.knowDeletions(...known);
  }
}

suite("a deletion", () => {
  test("that could not be noted as known is noted before the next turn", async () => {
    const { id, owner, turn, drafts, remove } = await asked("not-noted");
    const log = new NotingLog(weir.db, ENGINE);
    log.isAway = true;
    await remove();
    const history = new GuardedHistory({ ...store, log }, owner, await store.load(id), {
      othersWrite: false,
    });
    await assert.rejects(history.renew(), /away/);
    log.isAway = false;
    await history.renew();
    await history.appendTurnEntries(turn, drafts, new Date());
    assert.deepEqual(history.current, (await store.load(id)).history);
    const [called] = history.current.entries.flatMap((entry) =>
      entry.kind === "tool_call" ? entry.calls : [],
    );
    assert.match(called?.arguments ?? "", /774422/);
    await history.renew();
    assert.equal(log.noted, 2);
  });

  test("that another daemon has written is noted once", async () => {
    const { id, owner, remove } = await asked("noted-once");
    await weir.say(id, "never mind", { id: "noted-once-3", addressed: false });
    await store.log.delete(id, "noted-once-3", TEST_DIGESTER);
    const log = new NotingLog(weir.db, ENGINE);
    const history = new GuardedHistory({ ...store, log }, owner, await store.load(id));
    await remove();
    await history.renew();
    assert.equal(log.noted, 1);
    assert.deepEqual(history.current, (await store.load(id)).history);
  });

  test("is in no call that waits while the rows are folded without it", async () => {
    const { id, owner, turn, drafts, remove } = await asked("waits");
    const held = Promise.withResolvers<void>();
    const load = async (channel: ChannelId): Promise<ChannelSnapshot> => {
      const snapshot = await store.load(channel);
      await held.promise;
      return snapshot;
    };
    const history = new GuardedHistory({ ...store, load }, owner, await store.load(id));
    await remove();
    const reloaded = history.reload();
    const appended = history.appendTurnEntries(turn, drafts, new Date());
    held.resolve();
    await Promise.all([reloaded, appended]);
    assert.doesNotMatch(JSON.stringify(history.current), /774422/);
    assert.deepEqual(history.current, (await store.load(id)).history);
  });

  test("elsewhere, of something that was shown here, is looked for before the next turn of a channel that nobody else writes to", async () => {
    const { id, owner } = await asked("elsewhere");
    const history = new GuardedHistory(store, owner, await store.load(id), { othersWrite: false });
    // As a deletion in the channel that told of it takes a message of Weir's own.
    await store.log.delete(id, "elsewhere-1", TEST_DIGESTER);
    await history.renew();
    assert.match(JSON.stringify(history.current), /774422/);
    history.doubt();
    await history.renew();
    assert.doesNotMatch(JSON.stringify(history.current), /774422/);
  });
});

async function entryAt(id: ChannelId, seq: number): Promise<Entry> {
  const [entry] = await store.log.read(id, seq, seq);
  assert.ok(entry !== undefined);
  return entry;
}

/** How a daemon that another one has replaced may come upon what that one has written. */
const FORMER_OWNERS_LOOKS: readonly (readonly [
  string,
  (history: GuardedHistory, said: Entry) => Promise<unknown>,
])[] = [
  ["message", async (history, said) => history.observe(said)],
  ["gap", async (history, said) => history.catchUp(said.seq)],
  ["deletion", async (history) => history.reload()],
];

suite("two writers", () => {
  test("that read and write at once: what one has taken in is not lost by the other's older look", async () => {
    const { id, epoch } = await weir.channel("two-writers");
    const read = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const load = async (channel: ChannelId): Promise<ChannelSnapshot> => {
      const snapshot = await store.load(channel);
      read.resolve();
      await held.promise;
      return snapshot;
    };
    await weir.say(id, "boat 1");
    const before = await store.load(id);
    const history = new GuardedHistory({ ...store, load }, { channel: id, epoch }, before);
    const reloaded = history.reload();
    await read.promise;
    await weir.say(id, "boat 2");
    const observed = history.observe(await entryAt(id, 2));
    const seen = history.snapshot();
    // Whoever is let in now is done before the first one goes on.
    await nextTick();
    held.resolve();
    await Promise.all([reloaded, observed]);
    assert.equal(history.current.lastSeq, 2);
    assert.deepEqual(history.current, (await store.load(id)).history);
    assert.deepEqual(await seen, history.current, "a look waits for both");
  });

  test("that both have a gap to read take in each entry once", async () => {
    const { id, epoch } = await weir.channel("two-gaps");
    const before = await store.load(id);
    const history = new GuardedHistory(store, { channel: id, epoch }, before);
    for (let number = 1; number <= 6; number++) await weir.say(id, `boat ${number}`);
    const entries = await Promise.all([3, 6, 2].map(async (seq) => entryAt(id, seq)));
    await Promise.all([...entries.map(async (entry) => history.observe(entry)), history.catchUp(5)]);
    assert.deepEqual(history.current, (await store.load(id)).history);
  });
});

suite("two owners", () => {
  test("of which one has settled a turn: the former owner is refused before it reads the answer into its own", async () => {
    for (const [name, look] of FORMER_OWNERS_LOOKS) {
      const { id, epoch } = await weir.channel(`former-owner-${name}`);
      const former = { channel: id, epoch };
      await weir.say(id, "boat 1");
      const turn = await beginTurn(store, former, 1, 1);
      const history = new GuardedHistory(store, former, await store.load(id));
      const owner = { channel: id, epoch: await store.channels.take(id) };
      const entry = { kind: "assistant", text: "Noted.", stopped: false } as const;
      const end = { state: "answered", reason: null, modelMs: 0, entry, idempotencyKeys: [name] } as const;
      await store.turns.settle(owner, turn, end, new Date());
      await weir.say(id, "boat 2");
      const said = await entryAt(id, 3);
      await assert.rejects(look(history, said), StaleEpochError, name);
      assert.deepEqual(
        history.current.entries.map(({ kind }) => kind),
        ["user"],
      );
    }
  });

  test("of which one has lost the answer of a commit: a later look has it settled, and once", async () => {
    const { id, epoch } = await weir.channel("in-doubt");
    const owner = { channel: id, epoch };
    await weir.say(id, "boat 1");
    const turn = await beginTurn(store, owner, 1, 1);
    const history = new GuardedHistory(store, owner, await store.load(id));
    const entry = { kind: "assistant", text: "Noted.", stopped: false } as const;
    const end = { state: "answered", reason: null, modelMs: 0, entry, idempotencyKeys: ["doubt"] } as const;
    await store.turns.settle(owner, turn, end, new Date());
    await weir.say(id, "boat 2");
    await history.observe(await entryAt(id, 3));
    assert.equal(history.current.settledTo, 1);
    assert.deepEqual(history.current, (await store.load(id)).history);
  });
});
