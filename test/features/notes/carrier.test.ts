// proves: src/features/notes/note-store.ts, src/features/notes/carrier.ts
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { agentId, type ChannelId, turnId, type TurnId } from "../../../src/core/ids.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";
import type { RunningTurn } from "../../../src/store/turns/turn-rows.ts";
import { NoteStore } from "../../../src/features/notes/note-store.ts";
import { type OpenStore, openStore } from "../../store/open-store.ts";

const AGENT = agentId("main");
const digester = {
  ofEntries: async () => ({ text: "", tokens: 0 }),
  ofTexts: async () => ({ text: "", tokens: 0 }),
};

interface Room {
  readonly id: ChannelId;
  /** Somebody asks; the model notes. @returns null: refused */
  readonly note: (asked: string, text: string, takenBack?: number) => Promise<number | null>;
  readonly takenBack: () => Promise<number>;
}

interface World {
  readonly open: OpenStore;
  readonly room: (name: string, parent?: string) => Promise<Room>;
  /** What the rows say, by id; "": it is to go. */
  readonly texts: () => Promise<string[]>;
  readonly remove: (channel: ChannelId, message: string) => Promise<unknown>;
}

async function world(t: TestContext): Promise<World> {
  const database = await createTestDatabase();
  t.after(async () => database[Symbol.asyncDispose]());
  const open = openStore(database.connection);
  t.after(async () => open[Symbol.asyncDispose]());
  const { store } = open;
  const notes = new NoteStore(open.db);
  return {
    open,
    async room(name, parent) {
      const id = await store.channels.open({
        address: { platform: "test", name },
        kind: parent === undefined ? "channel" : "thread",
        workspace: "",
        agent: AGENT,
        ...(parent !== undefined && {
          place: { workspace: "", channel: name, parent: { id: parent, name: parent } },
        }),
      });
      const owner = { channel: id, epoch: await store.channels.take(id) };
      const takenBack = async (): Promise<number> => (await notes.look(id, AGENT, [])).takenBack;
      return {
        id,
        takenBack,
        async note(asked, text, seen) {
          const seq = await open.say(id, asked);
          const [turn] = await open.sql<{ id: TurnId }>(
            `insert into turns (channel_id, epoch, from_seq, to_seq, state, reason, settled_at)
             values ($1, $2, $3, $3, 'stopped', 'test', now()) returning id`,
            id,
            owner.epoch,
            seq,
          );
          assert.ok(turn !== undefined);
          const note = { agent: AGENT, file: "MEMORY.md", text };
          return notes.add(owner, turnId(turn.id), note, seen ?? (await takenBack()));
        },
      };
    },
    texts: async () =>
      (await open.sql<{ text: string }>("select text from notes order by id")).map(({ text }) => text),
    remove: async (channel, message) => store.log.delete(channel, message, digester),
  };
}

/** A yard in which one of two things that were said is noted, and a thread of it. */
async function notedYard(t: TestContext) {
  const { open, room, remove } = await world(t);
  const { store } = open;
  const yard = await room("yard");
  const thread = await room("thread", "yard");
  const owner = { channel: thread.id, epoch: 1 };
  await open.say(yard.id, "the code is zxqpine", { id: "secret" });
  await open.say(yard.id, "the lift is green", { id: "lift" });
  await yard.note("please", "The code: zxqpine.");
  return { open, store, remove, yard, thread, owner };
}

test("a deletion removes notes that repeat it in the channel and its threads, and no others", async (t) => {
  const { open, room, texts, remove } = await world(t);
  const yard = await room("yard");
  const thread = await room("thread", "yard");
  const office = await room("office");
  await open.say(yard.id, "the code is zxqpine", { id: "secret" });
  await open.say(yard.id, "ok", { id: "nothing" });
  for (const one of [yard, thread, office]) {
    await one.note("please", "The code: zxqpine.");
    await one.note("please", "The lift is red.");
    await one.note("is it zxqpine?", "It is zxqpine.");
  }
  const all = ["The code: zxqpine.", "The lift is red.", "It is zxqpine."];
  await remove(yard.id, "nothing");
  assert.deepEqual(await texts(), [...all, ...all, ...all]);
  await remove(yard.id, "secret");
  const left = ["", ...all.slice(1)];
  assert.deepEqual(await texts(), [...left, ...left, ...all]);
});

for (const how of ["deletion", "edit"] as const)
  test(`calls of a thread with words of its channel's notes lose them with the notes: ${how}`, async (t) => {
    const { open, store, remove, yard, thread, owner } = await notedYard(t);
    const seq = await open.say(thread.id, "and the code?");
    const turn = await store.turns.begin(owner, seq, seq);
    assert.ok(turn !== null);
    const calls = ["zxqpine", "green"].map((query) => {
      return { id: query, name: "search_history", arguments: JSON.stringify({ query }) };
    });
    const drafts = [{ kind: "tool_call", text: "", calls }] as const;
    await store.log.appendTurnEntries(owner, { id: turn.id, after: seq }, drafts, new Date());
    const left = async (): Promise<unknown[]> => {
      const [entry] = await store.log.read(thread.id, seq + 1, seq + 1);
      return entry?.kind === "tool_call" ? entry.calls.map((call) => call.arguments) : [];
    };
    // Its thread was shown nothing of that.
    await remove(yard.id, "lift");
    assert.deepEqual(await left(), ['{"query":"zxqpine"}', '{"query":"green"}']);
    if (how === "deletion") await remove(yard.id, "secret");
    else await store.log.edit(yard.id, "secret", "never mind", new Date(Date.now() + 1000), digester);
    assert.deepEqual(await left(), ["{}", '{"query":"green"}']);
  });

for (const how of ["deletion", "edit"] as const)
  test(`calls of a thread's turn that has read removed notes of its channel are logged without words: ${how}`, async (t) => {
    const { open, store, remove, yard, thread, owner } = await notedYard(t);
    const begin = async (): Promise<RunningTurn> => {
      const seq = await open.say(thread.id, "and the code?");
      const turn = await store.turns.begin(owner, seq, seq);
      assert.ok(turn !== null);
      return turn;
    };
    const call = async ({ id, toSeq }: RunningTurn): Promise<string> => {
      const calls = [{ id: "call", name: "search_history", arguments: '{"query":"zxqpine"}' }];
      const drafts = [{ kind: "tool_call", text: "", calls }] as const;
      await store.log.appendTurnEntries(owner, { id, after: toSeq }, drafts, new Date());
      const entries = await store.log.read(thread.id, 1, 99);
      const made = entries.findLast((entry) => entry.kind === "tool_call");
      return made?.kind === "tool_call" ? (made.calls[0]?.arguments ?? "") : "";
    };
    const turn = await begin();
    await remove(yard.id, "lift");
    assert.match(await call(turn), /zxqpine/, "it was shown nothing of that");
    if (how === "deletion") await remove(yard.id, "secret");
    else await store.log.edit(yard.id, "secret", "never mind", new Date(Date.now() + 1000), digester);
    assert.equal(await call(turn), "{}");
    assert.equal(await store.log.knowsDeletions(thread.id, turn.id), false);
    const skipped = { state: "skipped", reason: null, modelMs: 0, entry: null, idempotencyKeys: [] } as const;
    await store.turns.settle(owner, turn, skipped, new Date());
    // What has begun since was not shown it.
    const next = await begin();
    assert.match(await call(next), /zxqpine/);
    // One that begins again is shown the notes as they are.
    await open.sql("update turns set started_at = $2 where id = $1", next.id, new Date(0));
    assert.equal(await call(next), "{}");
    const { lastDeletion } = await store.load(thread.id);
    assert.ok(lastDeletion !== null && (await store.log.knowDeletions(owner, lastDeletion)));
    assert.match(await call(next), /zxqpine/);
  });

test("calls of a thread with words of its own notes lose them with the notes, where its channel has none", async (t) => {
  const { open, room, remove } = await world(t);
  const { store } = open;
  const yard = await room("yard");
  const thread = await room("thread", "yard");
  const other = await room("other", "yard");
  await open.say(yard.id, "the code is zxqpine", { id: "secret" });
  await thread.note("please", "The code: zxqpine.");
  const called = async ({ id }: Room): Promise<() => Promise<string>> => {
    const seq = await open.say(id, "and the code?");
    const turn = await store.turns.begin({ channel: id, epoch: 1 }, seq, seq);
    assert.ok(turn !== null);
    const calls = [{ id: "call", name: "search_history", arguments: '{"query":"zxqpine"}' }];
    const drafts = [{ kind: "tool_call", text: "", calls }] as const;
    await store.log.appendTurnEntries(
      { channel: id, epoch: 1 },
      { id: turn.id, after: seq },
      drafts,
      new Date(),
    );
    return async () => {
      const [entry] = await store.log.read(id, seq + 1, seq + 1);
      return entry?.kind === "tool_call" ? (entry.calls[0]?.arguments ?? "") : "";
    };
  };
  const [here, there] = [await called(thread), await called(other)];
  await remove(yard.id, "secret");
  assert.equal(await here(), "{}");
  assert.match(await there(), /zxqpine/, "it has the word from somewhere else");
});

test("a thread's turn that has seen its channel's notes writes no note after a deletion in the channel", async (t) => {
  const { open, room, texts, remove } = await world(t);
  const yard = await room("yard");
  const thread = await room("thread", "yard");
  await open.say(yard.id, "the code is zxqpine", { id: "secret" });
  const seen = await thread.takenBack();
  await remove(yard.id, "secret");
  assert.equal(await thread.note("please", "zxqpine", seen), null);
  assert.deepEqual(await texts(), []);
  assert.notEqual(await thread.note("please", "the lift"), null);
});

test("a deletion in a channel and a note in its thread wait for each other", async (t) => {
  const { open, room, texts } = await world(t);
  const yard = await room("yard");
  const thread = await room("thread", "yard");
  await open.say(yard.id, "the code is zxqpine", { id: "secret" });
  const seen = await thread.takenBack();
  let noted: Promise<number | null> | undefined;
  await open.db.transaction(async (client) => {
    await client.query("", "select delete_message($1, $2)", [yard.id, "secret"]);
    noted = thread.note("please", "zxqpine", seen);
    const waiting =
      "select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())";
    await until("wait of the line for the lock", async () => (await open.sql(waiting)).length > 0);
  });
  assert.equal(await noted, null);
  assert.deepEqual(await texts(), []);
});

test("a removed line deletes the context records of the threads that were shown it", async (t) => {
  const { open, room, remove } = await world(t);
  const yard = await room("yard");
  const thread = await room("thread", "yard");
  const office = await room("office");
  await open.say(yard.id, "the code is zxqpine", { id: "secret" });
  await open.say(yard.id, "the lift is red", { id: "other" });
  await yard.note("please", "zxqpine");
  for (const one of [thread, office]) {
    await one.note("please", "something else");
    await open.sql(
      `insert into context_records (turn_id, channel_id, at, seen_to, memories, content)
       select max(id), $1, now(), 1, '{}', '{}' from turns where channel_id = $1`,
      one.id,
    );
  }
  const kept = async (): Promise<number> => (await open.sql("select from context_records")).length;
  await remove(yard.id, "other");
  assert.equal(await kept(), 2);
  await remove(yard.id, "secret");
  assert.deepEqual(await open.sql("select channel_id from context_records"), [{ channelId: office.id }]);
});
