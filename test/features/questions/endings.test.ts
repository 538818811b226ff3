// proves: migrations/baseline/16_approvals.sql, src/features/questions/question-desk.ts, src/features/questions/question-store.ts
// How approvals end: by one of many who decide at once, by the clock, by a reset, by what is taken back; and what is not asked at all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { QuestionStore } from "../../../src/features/questions/question-store.ts";
import { ANN, BEN, command } from "../../support/commands.ts";
import { type ApprovalScene, openApprovals, shownIn } from "../../support/approvals.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import type { TestWeir } from "../../support/weir.ts";

/** Somebody wants something noted; resolves once the question is there. */
async function wanted(scene: ApprovalScene, weir: TestWeir, words: string, number: number): Promise<void> {
  await weir.say(`note ${words}`, { id: `said-${number}` });
  await scene.platform.until(() => questions(scene, number).length === 1);
}

function questions({ platform }: ApprovalScene, number: number): string[] {
  return shownIn(platform, "room", new RegExp(`^#${number}: main asks`));
}

async function state(scene: ApprovalScene, id: number): Promise<string> {
  return (await scene.rows()).find((row) => row.id === id)?.state ?? "";
}

test("of many decisions at once one counts, and all are told which", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  await wanted(scene, weir, "buy milk", 1);
  const typed = Array.from({ length: 12 }, (_, index) => (index % 3 === 0 ? "deny 1" : "approve 1"));
  const told = await Promise.all(
    typed.map(async (one, index) => command(weir, "room", one, index % 2 === 0 ? ANN : BEN)),
  );
  const won = told.filter((one) => /^(?:Allowed|Denied): #1\.$/.test(one));
  assert.equal(won.length, 1, told.join("\n"));
  const isAllowed = won[0]?.startsWith("Allowed") === true;
  const others = told.filter((one) => one !== won[0]);
  assert.equal(new Set(others).size, 1);
  assert.match(
    others[0] ?? "",
    isAllowed ? /^#1 is decided already\. Allowed by / : /^#1 is decided already\. Denied by /,
  );
  await scene.platform.until(
    () => shownIn(scene.platform, "room", isAllowed ? /told: Noted/ : /^fine$/).length === 1,
  );
  const due = await scene.open.sql("select from entries where message_id = 'approval/1'");
  assert.equal(due.length, 1);
});

test("an expiry is a denial in words, once, with two daemons at the same clock", async () => {
  await using scene = await openApprovals();
  const approvals = 'tools = { note = "always" }\nexpire_ms = 1000';
  await using weir = await scene.start({ approvals });
  await using other = await scene.start({ approvals, platform: new TestPlatform({ serves: () => true }) });
  await wanted(scene, weir, "buy milk", 1);
  await scene.platform.until(
    () => shownIn(scene.platform, "room", /^#1: Expired: nobody decided in time/).length === 1,
  );
  await until("an answer", () =>
    [weir, other].some(({ platform }) => shownIn(platform, "room", /^fine$/).length === 1),
  );
  assert.match(await command(weir, "room", "approve 1"), /^#1 is decided already\. Expired: nobody decided/);
  assert.equal((await scene.open.sql("select from entries where message_id = 'approval/1'")).length, 1);
  assert.doesNotMatch(await scene.notes(), /milk/);
  const asked = JSON.stringify(scene.server.requests.at(-1)?.body.messages);
  assert.match(asked, /Nobody has decided about the call of note in time\. That is a denial/);
});

test("what was allowed from now on needs no approval again, until that is ended", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  await wanted(scene, weir, "buy milk", 1);
  assert.match(
    await command(weir, "room", "approve 1 always", BEN),
    /^Allowed: #1, and this tool with exactly/,
  );
  await scene.platform.until(() => shownIn(scene.platform, "room", /told: Noted/).length === 1);
  await weir.say("note buy milk");
  await scene.platform.until(
    () => shownIn(scene.platform, "room", /told: That stands there already/).length === 1,
  );
  const list = await command(weir, "room", "approvals");
  assert.match(
    list,
    /^No call waits for an approval in this channel\.\nAllowed from now on:\n```\n1 note \{"text":"buy milk"\} \(by Ben\)/,
  );
  await wanted(scene, weir, "buy more milk", 2);
  assert.match(
    await command(weir, "room", "approvals"),
    /^1 call waits for an approval in this channel:\n```\n#2 note/,
  );
  assert.equal(
    await command(weir, "room", "approvals forget 1"),
    "Ended: 1. Such a call needs an approval again.",
  );
  assert.equal(await command(weir, "room", "approvals forget 1"), "Nothing here has the number 1.");
  await wanted(scene, weir, "buy milk", 3);
});

test("a reset voids what waits; a stop does not", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  await wanted(scene, weir, "buy milk", 1);
  await command(weir, "room", "stop");
  assert.equal(await state(scene, 1), "open");
  await command(weir, "room", "reset");
  assert.equal(await state(scene, 1), "void");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Void: /).length === 1);
  assert.match(
    await command(weir, "room", "approve 1"),
    /^#1 is decided already\. Void: what it was asked for/,
  );
});

test("a deletion or an edit of the message that asked voids it, and its arguments are shown no more", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  await wanted(scene, weir, "zxqpine", 1);
  await wanted(scene, weir, "vvqmoss", 2);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "said-1", at: new Date() });
  await weir.daemon.inbox.receive({
    type: "edit",
    platform: "test",
    id: "said-2",
    text: "never mind",
    at: new Date(),
  });
  for (const id of [1, 2]) {
    await scene.platform.until(
      () => shownIn(scene.platform, "room", new RegExp(`^#${id}: Void: `)).length === 1,
    );
    assert.match(await command(weir, "room", `approve ${id}`), /is decided already\. Void/);
  }
  assert.deepEqual(
    (await scene.rows()).map(({ state: one, arguments: json }) => [one, json]),
    [
      ["void", ""],
      ["void", ""],
    ],
  );
  assert.deepEqual(
    shownIn(scene.platform, "room", /^#/).filter((one) => /zxqpine|vvqmoss/.test(one)),
    [],
  );
  assert.doesNotMatch(await scene.notes(), /zxqpine|vvqmoss/);
});

test("a deletion in a channel voids what was asked for with its notes in a thread, whose question shows them no more", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  const place = { workspace: "", channel: "a thread", parent: { id: "room", name: "room" } };
  const thread = {
    channel: { platform: "test", name: "thread" },
    room: "thread",
    kind: "thread",
    place,
  } as const;
  scene.server.respond(({ messages, tools }) => {
    if (messages.at(-1)?.role === "tool" || tools === undefined) return text("fine");
    const isInThread = JSON.stringify(messages).includes("a thread");
    return toolCalls([{ name: isInThread ? "note" : "memory_write", arguments: { text: "zxqpine" } }]);
  });
  await weir.say("it is zxqpine", { id: "secret", addressed: false });
  await weir.say("keep it in mind");
  await scene.platform.until(() => scene.platform.texts("room").includes("fine"));
  await weir.say("and note it here", thread);
  await scene.platform.until(
    () => shownIn(scene.platform, "thread", /^#1: main asks[^]*zxqpine/).length === 1,
  );
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "secret", at: new Date() });
  await scene.platform.until(() => shownIn(scene.platform, "thread", /^#1: Void: /).length === 1);
  assert.deepEqual(shownIn(scene.platform, "thread", /zxqpine/), []);
});

test("a call between a text and its edit goes with the compaction of both, and its question says so", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start({ config: "[defaults.compaction]\nkeep_messages = 2" });
  await weir.say("it rains", { id: "said-0" });
  await scene.platform.until(() => shownIn(scene.platform, "room", /^fine$/).length === 1);
  await wanted(scene, weir, "buy milk", 1);
  await weir.daemon.inbox.receive({
    type: "edit",
    platform: "test",
    id: "said-0",
    text: "it snows",
    at: new Date(),
  });
  for (let said = 0; said < 12; said++)
    await weir.say(`the ${said}th boat has left the quay for the mill and its lock`, { addressed: false });
  assert.equal(await state(scene, 1), "open");
  scene.server.respond(() => text("It rains, and boats leave the quay."));
  assert.match(await command(weir, "room", "compact"), /^Summarised/);
  await until("the compaction", async () => (await state(scene, 1)) === "void");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Void: /).length === 1);
});

test("the same call asked for twice is one; so many wait at most; a call that could not run is not asked about", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  await wanted(scene, weir, "buy milk", 1);
  await weir.say("note buy milk");
  await scene.platform.until(
    () => shownIn(scene.platform, "room", /told: This waits for an approval, as #1/).length === 2,
  );
  const words = Array.from({ length: 16 }, (_, index) => `thing ${index}`);
  await weir.say(`note ${words.slice(0, 12).join(" and ")}`);
  await until("twelve more", async () => (await scene.rows()).length === 13);
  await weir.say(`note ${words.map((one) => `other ${one}`).join(" and ")}`);
  await until("twenty", async () => (await scene.rows()).length === 20);
  await scene.platform.until(
    () =>
      shownIn(scene.platform, "room", /told: Error: this waits for a person, and 20 questions wait/)
        .length === 1,
  );
  assert.equal((await scene.rows()).length, 20);
  scene.server.reply(toolCalls([{ name: "note", arguments: { txt: 1 } }]), text("sorry"));
  await weir.say("and badly");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^sorry$/).length === 1);
  assert.match(
    JSON.stringify(scene.server.requests.at(-1)?.body.messages.slice(-3)),
    /Error: the arguments do not fit/,
  );
  assert.equal((await scene.rows()).length, 20);
});

test("calls of two answers of one turn that have the same id are two, and both are asked about", async () => {
  await using scene = await openApprovals();
  const noted = (words: string): ReturnType<typeof toolCalls> =>
    toolCalls([{ name: "note", id: "functions.note:0", arguments: { text: words } }]);
  scene.server.reply(noted("buy milk"), noted("buy bread"), text("both asked"));
  await using weir = await scene.start();
  await weir.say("note both");
  await scene.platform.until(() => questions(scene, 1).length === 1 && questions(scene, 2).length === 1);
  assert.deepEqual(
    (await scene.rows()).map((row) => row.arguments),
    ['{"text":"buy milk"}', '{"text":"buy bread"}'],
  );
});

test("an approval is known in its own channel alone, and secrets of the operator are masked", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start({ apiKey: "sk-verysecret-key" });
  await wanted(scene, weir, "sk-verysecret-key", 1);
  assert.doesNotMatch(questions(scene, 1).join(""), /verysecret/);
  assert.match(questions(scene, 1).join(""), /•••/);
  await weir.say("hello", { room: "den", kind: "dm" });
  await scene.platform.until(() => shownIn(scene.platform, "den", /^fine$/).length === 1);
  assert.equal(await command(weir, "den", "approve 1"), "This conversation has no approval #1.");
  assert.doesNotMatch(await command(weir, "den", "approvals"), /#1/);
});

test("in a direct message nobody approves for themselves who is no approver", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start({
    approvals: 'tools = { note = "always" }\napprovers = ["discord:u-ben"]',
  });
  const dm = { channel: { platform: "discord", name: "dm-ann" }, room: "dm-ann", kind: "dm" } as const;
  await weir.say("note buy milk", dm);
  await scene.platform.until(() => shownIn(scene.platform, "dm-ann", /^#1: main asks/).length === 1);
  assert.match(await command(weir, "dm-ann", "approve 1", ANN, "discord"), /^That is for approvers only\./);
  assert.match(await command(weir, "dm-ann", "approvals", ANN, "discord"), /^That is for approvers only\./);
  assert.equal(await command(weir, "dm-ann", "approve 1", BEN, "discord"), "Allowed: #1.");
});

test("a deletion that waits for a decision under way leaves no rule of it", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  await wanted(scene, weir, "zxqpine", 1);
  const voided = Promise.withResolvers<unknown>();
  await scene.open.db.transaction(async (client) => {
    await client.query("", "update approvals set state = 'allowed' where id = 1");
    voided.resolve(
      weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "said-1", at: new Date() }),
    );
    await until("the wait", async () => {
      const waiting =
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      return (await scene.open.sql(waiting)).length > 0;
    });
    await client.query(
      "",
      `insert into approval_rules (channel_id, agent, tool, arguments, fingerprint, approval_id)
       select channel_id, agent, tool, arguments, fingerprint, id from approvals where id = 1`,
    );
  });
  await voided.promise;
  assert.deepEqual(await scene.open.sql("select from approval_rules"), []);
  assert.equal(await state(scene, 1), "void");
});

test("a deletion looks for questions only where there may be some, once, and by an index", async (t) => {
  await using scene = await openApprovals();
  let count = 0;
  const channelsToShow = t.mock.method(QuestionStore.prototype, "channelsToShow");
  const looks = (): number => channelsToShow.mock.callCount();
  const counted =
    (weir: TestWeir): (() => Promise<void>) =>
    async () => {
      const id = `gone-${++count}`;
      await weir.say("well", { id, addressed: false });
      await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id, at: new Date() });
      await weir.daemon.registry.compactionsIdle();
    };
  const without = { approvals: "expire_ms = 60000", config: "[defaults.questions]\nenabled = false" };
  {
    await using weir = await scene.start(without);
    await weir.say("hello");
    await scene.platform.until(() => shownIn(scene.platform, "room", /^fine$/).length === 1);
    const deletes = counted(weir);
    await until("the end of its start", async () => {
      channelsToShow.mock.resetCalls();
      for (let more = 0; more < 3; more++) await deletes();
      return looks() === 0;
    });
  }
  {
    await using weir = await scene.start();
    channelsToShow.mock.resetCalls();
    await counted(weir)();
    await until("the look", () => looks() > 0);
    assert.equal(looks(), 1);
    await weir.say("note zxqpine", { id: "asked" });
    await scene.platform.until(
      () => shownIn(scene.platform, "room", /^#1: main asks[^]*zxqpine/).length === 1,
    );
    await until("its note", async () => (await scene.rows())[0]?.shown === "open");
  }
  // Left by an earlier configuration: its message goes on telling only what is true.
  await using weir = await scene.start(without);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "asked", at: new Date() });
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Void/).length === 1);
  assert.deepEqual(shownIn(scene.platform, "room", /zxqpine/), []);
  const plan = await scene.open.db.transaction(async (client) => {
    // So small a table is read as a whole otherwise.
    await client.query("", "set local enable_seqscan = off");
    return client.query<{ "QUERY PLAN": string }>(
      "",
      `explain select a.channel_id from approvals a
        where a.shown is null and a.state in ('open', 'asked')
           or a.shown <> question_shown(a.state, a.arguments, a.answer)`,
    );
  });
  assert.match(plan.map((line) => line["QUERY PLAN"]).join("\n"), /approvals_to_show/);
});
