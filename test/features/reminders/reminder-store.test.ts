// proves: src/features/reminders/reminder-store.ts, src/store/deletion/carriers/due-work.ts, migrations/baseline/17_reminders.sql
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId, type ChannelId, type Seq } from "../../../src/core/ids.ts";
import type { InboundMessage } from "../../../src/core/message.ts";
import {
  type ReminderPlan,
  type AddedReminder,
  ReminderStore,
} from "../../../src/features/reminders/reminder-store.ts";
import { draftMessage } from "../../../src/store/log/message-rows.ts";
import type { RunningTurn } from "../../../src/store/turns/turn-rows.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { beginTurn } from "../../support/turns.ts";
import { openStore } from "../../store/open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const open = openStore(database.connection);
after(async () => open[Symbol.asyncDispose]());
const { store } = open;
const reminders = new ReminderStore(open.db);
const sql: typeof open.sql = async (words, ...values) => open.sql(words, ...values);

const NOW = new Date("2026-11-25T04:30:00Z");
const LATER = new Date("2026-11-25T09:00:00Z");
const PLAN: ReminderPlan = { at: LATER, cron: null, timeZone: "UTC", text: "water the plants" };

interface Asking {
  readonly channel: ChannelId;
  readonly epoch: number;
  readonly turn: RunningTurn;
}

let channels = 0;

/** A channel whose turn answers what Ann has asked. */
async function asked(text = "remind me to water the plants", id = "ask"): Promise<Asking> {
  const { id: channel, epoch } = await open.channel(`asked-${++channels}`);
  const seq = await open.say(channel, text, { id: `${id}-${channels}` });
  return { channel, epoch, turn: await beginTurn(store, { channel, epoch }, seq, seq) };
}

async function add(
  { channel, epoch, turn }: Asking,
  plan: Partial<ReminderPlan> = {},
  { key = `key-${Math.random()}`, run = "run-1", callId = "call-1" } = {},
): Promise<AddedReminder> {
  const inTurn = { owner: { channel, epoch }, turn: turn.id, run, callId };
  return reminders.addInTurn(inTurn, { ...PLAN, ...plan }, key, NOW);
}

async function texts(channel: ChannelId): Promise<string[]> {
  return (await reminders.waiting(channel)).map(({ text }) => text);
}

function typed(text: string, overrides: Partial<InboundMessage> = {}): InboundMessage {
  return {
    type: "message",
    channel: { platform: "test", name: "unused" },
    kind: "channel",
    workspace: "",
    id: "typed-1",
    author: { id: "u-ann", name: "Ann", isBot: false },
    text,
    at: NOW,
    addressed: false,
    ...overrides,
  };
}

function refusal(added: AddedReminder): string | null {
  return added.refused;
}

test("a reminder is added once, with who asked for it", async () => {
  const asking = await asked();
  const first = await add(asking, {}, { key: "k" });
  assert.deepEqual(await add(asking, {}, { key: "k" }), first);
  assert.deepEqual(await reminders.waiting(asking.channel), [
    {
      id: first.refused === null ? first.id : 0,
      cron: null,
      timeZone: "UTC",
      text: "water the plants",
      due: LATER,
      asker: { id: "u-ann", name: "Ann" },
      schedule: null,
    },
  ]);
});

test("what a run of a turn has set that ended before its call was logged, the next run replaces", async () => {
  const asking = await asked();
  const { channel, epoch, turn } = asking;
  await add(asking, { text: "logged" }, { run: "run-1", callId: "call-1" });
  const call = { id: "call-1", name: "remind", arguments: "{}" };
  await store.log.appendTurnEntries(
    { channel, epoch },
    { id: turn.id, after: turn.toSeq },
    [{ kind: "tool_call", text: "", calls: [call] }],
    NOW,
  );
  await add(asking, { text: "not logged" }, { run: "run-1", callId: "call-2" });
  await add(asking, { text: "beside it" }, { run: "run-1", callId: "call-3" });
  assert.deepEqual((await texts(channel)).toSorted(), ["beside it", "logged", "not logged"]);
  await add(asking, { text: "set anew" }, { run: "run-2", callId: "call-4" });
  assert.deepEqual((await texts(channel)).toSorted(), ["logged", "set anew"]);
});

test("a reminder of an earlier run that was told already ends, and its row stays", async () => {
  const asking = await asked("remind me each day");
  const { channel } = asking;
  await add(asking, { text: "each day", cron: "0 9 * * *" }, { run: "run-1", callId: "call-1" });
  const [due] = await reminders
    .due(["test"], LATER, 0, 100)
    .then((all) => all.filter((one) => one.channel.id === channel));
  assert.ok(due !== undefined);
  const draft = draftMessage({
    id: `reminder/${due.id}/${due.due.toISOString()}`,
    author: { id: "weir", name: "reminder", isBot: true },
    text: due.text,
    at: LATER,
    addressed: true,
  });
  const next = new Date("2026-11-26T09:00:00Z");
  assert.equal((await reminders.fire({ reminder: due, draft, next })).hasFired, true);
  await add(asking, { text: "each day, again", cron: "0 9 * * *" }, { run: "run-2", callId: "call-2" });
  assert.deepEqual(await texts(channel), ["each day, again"]);
  const [row] = await sql<{ state: string; text: string }>(
    "select state, text from reminders where id = $1",
    due.id,
  );
  assert.deepEqual(row, { state: "cancelled", text: "" });
});

test("bounds: fifty in a channel, twenty of one person; a refused command leaves nothing", async () => {
  const { id: channel } = await open.channel("full");
  const from = async (person: string, number: number): Promise<AddedReminder> => {
    const author = { id: person, name: person, isBot: false };
    return reminders.addByCommand(
      channel,
      typed("/remind", { id: `${person}-${number}`, author }),
      PLAN,
      NOW,
    );
  };
  for (let number = 0; number < 20; number++) assert.equal(refusal(await from("ann", number)), null);
  assert.equal(refusal(await from("ann", 20)), "full_for_person");
  for (let number = 0; number < 30; number++)
    assert.equal(refusal(await from(number < 15 ? "ben" : "cid", number)), null);
  assert.equal(refusal(await from("dan", 1)), "full");
  assert.deepEqual(await sql("select from entries where channel_id = $1 and author_id = 'dan'", channel), []);
  assert.equal((await reminders.waiting(channel)).length, 50);
  // At the same time, too: both look under the channel's lock.
  const [first] = await reminders.waiting(channel);
  assert.equal(await reminders.cancel(channel, first?.id ?? 0), true);
  assert.equal(await reminders.cancel(channel, first?.id ?? 0), false);
  const both = await Promise.all([from("eve", 1), from("eve", 2)]);
  assert.deepEqual(both.map((one) => String(refusal(one))).toSorted(), ["full", "null"]);
});

test("an occurrence is appended once, however many tell it, and the reminder moves on", async () => {
  const asking = await asked();
  await add(asking, { cron: "0 9 * * *" });
  const [reminder] = await reminders.waiting(asking.channel);
  assert.ok(reminder !== undefined);
  const draft = draftMessage({
    id: `reminder/${reminder.id}/1`,
    author: { id: "weir", name: "reminder", isBot: true },
    text: reminder.text,
    at: LATER,
    addressed: true,
  });
  const next = new Date("2026-11-26T09:00:00Z");
  const fired = await Promise.all([1, 2, 3].map(async () => reminders.fire({ reminder, draft, next })));
  assert.deepEqual(fired.filter(({ hasFired }) => hasFired).length, 1);
  assert.deepEqual(new Set(fired.map(({ seq }) => seq)).size, 1);
  assert.deepEqual(
    (await reminders.waiting(asking.channel)).map(({ due }) => due),
    [next],
  );
  // One that has changed since it was read is read again.
  const changed = { ...reminder, due: next, text: "something else" };
  assert.equal((await reminders.fire({ reminder: changed, draft, next: null })).hasFired, false);
  const last = {
    reminder: { ...reminder, due: next },
    draft: { ...draft, messageId: `${draft.messageId}2` },
  };
  assert.equal((await reminders.fire({ ...last, next: null })).hasFired, true);
  assert.deepEqual(await sql("select state, text from reminders where id = $1", reminder.id), [
    { state: "done", text: "" },
  ]);
});

test("nothing is set by who has lost the channel, nor behind an edit that the model has not seen", async () => {
  const asking = await asked("remind me of the zebra");
  const { channel } = asking;
  await assert.rejects(add({ ...asking, epoch: 0 }), /epoch 0/);
  await store.log.edit(channel, `ask-${channels}`, "never mind", NOW, TEST_DIGESTER);
  assert.equal(refusal(await add(asking)), "changed");
  assert.deepEqual(await texts(channel), []);
});

test("nothing is set for a message that was taken back, nor in a channel that is gone", async () => {
  const asking = await asked();
  await store.log.delete(asking.channel, `ask-${channels}`, TEST_DIGESTER);
  assert.equal(refusal(await add(asking)), "gone");
  const other = await asked();
  await add(other);
  await store.erasures.note({ platform: "test", name: `asked-${channels}` }, NOW);
  assert.deepEqual(await texts(other.channel), []);
  assert.equal(refusal(await add(other)), "gone");
});

test("what answers a reminder sets the next one five minutes later at the soonest, for who asked for the first", async () => {
  const { id: channel, epoch } = await open.channel("chain");
  await reminders.addByCommand(
    channel,
    typed("/remind in 1h tea", { id: "chain-1" }),
    { ...PLAN, text: "tea" },
    NOW,
  );
  const [reminder] = await reminders.waiting(channel);
  assert.ok(reminder !== undefined);
  const author = { id: "weir", name: "reminder", isBot: true };
  const seq = await open.say(channel, "tea", { id: `reminder/${reminder.id}/x`, author });
  const asking = { channel, epoch, turn: await beginTurn(store, { channel, epoch }, seq, seq) };
  assert.equal(refusal(await add(asking, { at: new Date(NOW.getTime() + 299_000) })), "soon");
  assert.equal(refusal(await add(asking, { at: new Date(NOW.getTime() + 301_000), text: "more tea" })), null);
  assert.deepEqual(
    (await reminders.waiting(channel)).map(({ asker }) => asker?.name),
    ["Ann", "Ann"],
  );
  // It goes with the message that asked for the first.
  await store.log.delete(channel, "chain-1", TEST_DIGESTER);
  assert.deepEqual(await texts(channel), []);
});

const CHANGES: Readonly<Record<string, (channel: ChannelId, id: string) => Promise<unknown>>> = {
  deletion: async (channel, id) => store.log.delete(channel, id, TEST_DIGESTER),
  edit: async (channel, id) => store.log.edit(channel, id, "never mind", NOW, TEST_DIGESTER),
};

for (const [what, change] of Object.entries(CHANGES)) {
  test(`${what}: what was read and retold goes with it, in the channel and in its threads`, async () => {
    const { id: channel, epoch } = await open.channel(`retold-${++channels}`);
    await open.say(channel, "the code is zxqpine", { id: "secret", addressed: false });
    const seq = await open.say(channel, "remind me of the code", { id: "asks" });
    const turn = await beginTurn(store, { channel, epoch }, seq, seq);
    await add({ channel, epoch, turn }, { text: "the code is zxqpine" });
    await store.log.appendTurnEntries(
      { channel, epoch },
      { id: turn.id, after: seq },
      [
        {
          kind: "tool_result",
          callId: "c",
          tool: "web",
          text: "zxqpine is a tree",
          references: [],
          memories: [],
        },
      ],
      NOW,
    );
    for (const kind of ["reminder/999999", "subagent/1", "handoff/1", "approval/1"])
      await open.say(channel, "about zxqpine", {
        id: `${kind}/1`,
        author: { id: "weir", name: kind, isBot: true },
        addressed: true,
      });
    const thread = await store.channels.open({
      address: { platform: "test", name: `thread-of-${channels}` },
      kind: "thread",
      workspace: "",
      agent: agentId("main"),
      place: { workspace: "", channel: "t", parent: { id: `retold-${channels}`, name: "retold" } },
    });
    const threadEpoch = await store.channels.take(thread);
    const threadSeq = await open.say(thread, "and remind me here");
    const threadTurn = await beginTurn(store, { channel: thread, epoch: threadEpoch }, threadSeq, threadSeq);
    await add({ channel: thread, epoch: threadEpoch, turn: threadTurn }, { text: "zxqpine again" });
    await change(channel, "secret");
    const left = await sql(
      "select text from entries where channel_id = any($1) and text like '%zxqpine%' and kind <> 'tool_result' union all select text from reminders where channel_id = any($1) and text <> ''",
      [channel, thread],
    );
    // The view goes on showing a text that was edited away, with a note of the edit.
    const shown = what === "edit" ? ["the code is zxqpine"] : [];
    assert.deepEqual(
      left.map(({ text }) => text),
      shown,
    );
    const results = await sql(
      "select text from entries where channel_id = $1 and kind = 'tool_result'",
      channel,
    );
    // As with arguments of calls: an edit takes what the view shows once a summary covers it.
    assert.deepEqual(results, [{ text: what === "edit" ? "zxqpine is a tree" : "" }]);
  });
}

test("what somebody typed goes with its words, and stays where the words stay", async () => {
  const { id: channel } = await open.channel("typed");
  const plant = async (id: string, text: string): Promise<void> => {
    const words = `/remind in 1h ${text}`;
    assert.equal(
      refusal(await reminders.addByCommand(channel, typed(words, { id }), { ...PLAN, text }, NOW)),
      null,
    );
  };
  await plant("t-1", "feed the cat");
  await plant("t-2", "🎂");
  await plant("t-3", "call Bob");
  const edits: [string, string][] = [
    ["t-1", "/remind in 1h please feed  the cat at once"],
    ["t-2", "/remind in 1h 🎂!"],
    ["t-3", "/remind in 1h call Eve"],
  ];
  for (const [id, text] of edits) await store.log.edit(channel, id, text, NOW, TEST_DIGESTER);
  assert.deepEqual(await texts(channel), ["feed the cat", "🎂"]);
  assert.equal(refusal(await reminders.addByCommand(channel, typed("x", { id: "t-3" }), PLAN, NOW)), "gone");
  await store.log.delete(channel, "t-2", TEST_DIGESTER);
  assert.deepEqual(await texts(channel), ["feed the cat"]);
  // Somebody else's words are theirs, whatever was deleted before them.
  await open.say(channel, "my zebra", { id: "zebra", addressed: false });
  await plant("t-4", "a zebra");
  await store.log.delete(channel, "zebra", TEST_DIGESTER);
  assert.deepEqual(await texts(channel), ["feed the cat", "a zebra"]);
});

test("of other work of Weir's own, a word that people have said before tells nothing, a number does", async () => {
  const { id: channel } = await open.channel("others");
  const author = { id: "weir", name: "subagent", isBot: true };
  await open.say(channel, "the river is high", { id: "o-1", addressed: false });
  await open.say(channel, "the river, again, at 774411", { id: "o-2", addressed: false });
  await open.say(channel, "the river rises", { id: "subagent/1/1", author });
  await open.say(channel, "see 774411", { id: "subagent/2/1", author });
  await open.say(channel, "a river, later", { id: "o-3", addressed: false });
  const left = async (): Promise<Seq[]> =>
    (
      await sql<{ text: string }>(
        "select text from entries where channel_id = $1 and author_id = 'weir' order by seq",
        channel,
      )
    ).map(({ text }) => text.length);
  await store.log.delete(channel, "o-1", TEST_DIGESTER);
  assert.deepEqual(await left(), [15, 10]);
  await store.log.delete(channel, "o-2", TEST_DIGESTER);
  assert.deepEqual(await left(), [0, 0]);
});

test("what a model has called after a deletion that it did not know of is over", async () => {
  const { id: channel, epoch } = await open.channel("late");
  await open.say(channel, "the code is zxqpine", { id: "l-1", addressed: false });
  const seq = await open.say(channel, "remind me of the code", { id: "l-2" });
  const turn = await beginTurn(store, { channel, epoch }, seq, seq);
  await store.log.delete(channel, "l-1", TEST_DIGESTER);
  await add({ channel, epoch, turn }, { text: "the code is zxqpine" });
  await store.log.appendTurnEntries(
    { channel, epoch },
    { id: turn.id, after: seq },
    [{ kind: "tool_result", callId: "c", tool: "web", text: "zxqpine", references: [], memories: [] }],
    NOW,
  );
  assert.deepEqual(await texts(channel), []);
  assert.deepEqual(
    await sql("select text from entries where channel_id = $1 and kind = 'tool_result'", channel),
    [{ text: "" }],
  );
});

test("schedules follow the configuration: the same is left alone, a changed one is changed, and one that has gone is over", async () => {
  const { id: channel } = await open.channel("scheduled");
  const one = {
    channel,
    agent: agentId("main"),
    name: "standup",
    cron: "0 9 * * *",
    timeZone: "UTC",
    text: "go",
  };
  const two = { ...one, name: "review" };
  const nextAt = LATER;
  await reminders.setSchedules([
    { ...one, nextAt },
    { ...two, nextAt },
  ]);
  const later = new Date("2026-12-24T09:00:00Z");
  await reminders.setSchedules([
    { ...one, nextAt: later },
    { ...two, text: "stop", nextAt: later },
  ]);
  const rows = async (): Promise<unknown[]> =>
    (await reminders.waiting(channel)).map(({ schedule, text, due }) => [schedule, text, due]);
  assert.deepEqual(await rows(), [
    ["standup", "go", LATER],
    ["review", "stop", later],
  ]);
  assert.equal(await reminders.cancel(channel, (await reminders.waiting(channel))[0]?.id ?? 0), false);
  await reminders.setSchedules([{ ...two, text: "stop", nextAt: later }]);
  assert.deepEqual(await rows(), [["review", "stop", later]]);
  await reminders.setSchedules([{ ...one, nextAt: later }]);
  assert.deepEqual(await rows(), [["standup", "go", later]]);
  // What the operator has written tells of nobody.
  await open.say(channel, "go home", { id: "s-1", addressed: false });
  await store.log.delete(channel, "s-1", TEST_DIGESTER);
  assert.deepEqual(await rows(), [["standup", "go", later]]);
});
