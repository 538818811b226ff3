// proves: src/features/questions/tool.ts, src/features/questions/choice.ts, src/features/questions/choice-text.ts, src/features/questions/answer-command.ts, src/features/questions/question-gate.ts, src/router/text-commands.ts, migrations/0081_questions.sql
// An agent asks with choices: its turn ends, the channel goes on, one answer counts, and the agent goes on from there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { askFor, asking, ROOM } from "../../support/asking.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { type ApprovalScene, expireSoon, openApprovals, shownIn } from "../../support/approvals.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import type { TestWeir } from "../../support/weir.ts";

async function openScene(): Promise<ApprovalScene> {
  const scene = await openApprovals();
  scene.server.respond(asking);
  return scene;
}

const say = async (weir: TestWeir, text: string, who = ANN): ReturnType<TestWeir["say"]> =>
  weir.say(text, { channel: ROOM, workspace: "w", author: authorOf(who) });
const typed = async (weir: TestWeir, line: string, who = ANN): Promise<string> =>
  command(weir, "room", line, who, "discord");
const shown = ({ platform }: ApprovalScene, what: RegExp): string[] => shownIn(platform, "room", what);
const seen = async (scene: ApprovalScene, what: RegExp): Promise<void> =>
  scene.platform.until(() => shown(scene, what).length === 1);

test("a question is asked, the channel goes on, and the answer of whoever was asked counts once", async () => {
  await using scene = await openScene();
  await using weir = await scene.start();
  await say(weir, askFor());
  await seen(
    scene,
    /^#1: main asks: Which colour\?\n1\. Red\n2\. Deep blue\nAnn can answer by the number, or by \/answer 1 NUMBER\./,
  );
  await seen(scene, /^told: Asked, as #1/);
  const card = [...scene.platform.shown.values()].find(({ text }) => text.startsWith("#1"));
  assert.deepEqual(
    card?.actions?.map(({ label, command: name, argument }) => [label, name, argument]),
    [
      ["1. Red", "answer", "1 1"],
      ["2. Deep blue", "answer", "1 2"],
    ],
  );
  await say(weir, "and what else is there?", BEN);
  await seen(scene, /^fine$/);
  assert.match(await typed(weir, "answer", BEN), /#1 Which colour\?\n {3}1\. Red/);
  assert.equal(await typed(weir, "answer 1 2", BEN), "#1 is a question to Ann.");
  assert.match(await typed(weir, "answer 1 3"), /^#1 has the choices 1 to 2/);
  const told = await Promise.all(
    ["answer 1 2", "answer 1 red", "answer 1 1"].map(async (line) => typed(weir, line)),
  );
  assert.deepEqual(told.filter((one) => one === "Your answer is noted.").length, 1, told.join("\n"));
  const again = /^#1 is over already\. Ann has chosen: (?:Red|Deep blue)$/;
  assert.equal(told.filter((one) => again.test(one)).length, 2, told.join("\n"));
  await seen(scene, /^#1: main asked: Which colour\?\nAnn has chosen: (?:Red|Deep blue)$/);
  await seen(scene, /^heard: You asked: Which colour\?\nAnn has chosen: (?:Red|Deep blue)/);
  const after = [...scene.platform.shown.values()].find(({ text }) => text.startsWith("#1"));
  assert.deepEqual(after?.actions, []);
  assert.equal((await scene.open.sql("select from entries where message_id = 'approval/1'")).length, 1);
});

test("a plain message answers: by the number or the words of the choice, of whoever was asked", async () => {
  await using scene = await openScene();
  await using weir = await scene.start();
  await say(weir, askFor());
  await seen(scene, /^#1: main asks/);
  await say(weir, "2", BEN);
  await seen(scene, /^fine$/);
  const receipt = await say(weir, "@main deep  BLUE");
  assert.equal(receipt.outcome, "command");
  await seen(scene, /^heard: .*\nAnn has chosen: Deep blue/);
  assert.deepEqual(
    await scene.open.sql("select text, addressed from entries where text = '@main deep  BLUE'"),
    [{ text: "@main deep  BLUE", addressed: false }],
    "the message stands in the log, and asks for no turn",
  );
  await say(weir, askFor({ question: "Which wall?", who: "anybody" }));
  await seen(scene, /^#2: main asks: Which wall\?[^]*Anybody here can answer/);
  await say(weir, "1.", BEN);
  await seen(scene, /^heard: .*\nBen has chosen: Red/);
});

test("without an answer in time the agent goes on, and is told so", async () => {
  await using scene = await openScene();
  {
    await using weir = await scene.start();
    await say(weir, askFor());
    await seen(scene, /^#1: main asks: /);
    await expireSoon(scene);
  }
  await using weir = await scene.start();
  await seen(scene, /^heard: You asked: Which colour\?\nNobody has answered in time\./);
  await seen(scene, /^#1: main asked: Which colour\?\nNobody has answered in time\.$/);
  assert.equal(await typed(weir, "answer 1 1"), "#1 is over already. Nobody has answered in time.");
});

test("what cannot be shown is refused without a question; the same question waits once", async () => {
  await using scene = await openScene();
  await using weir = await scene.start();
  const wrong = [
    [{ choices: ["Red"] }, /2 to 5 choices/],
    [{ choices: ["Red", " red"] }, /no two choices are the same/],
    [{ choices: ["Red", "x".repeat(76)] }, /1 to 75 characters/],
    [{ question: " " }, /the question has 1 to 1000 characters/],
    [{ wait_minutes: 0.5 }, /wait_minutes is a whole number/],
  ] as const;
  for (const [more, why] of wrong) {
    await say(weir, askFor(more));
    await seen(scene, new RegExp(`^told: Error: the arguments do not fit\\.[^]*${why.source}`));
  }
  assert.deepEqual(await scene.rows(), []);
  await say(weir, askFor());
  await seen(scene, /^told: Asked, as #1/);
  await say(weir, askFor());
  await scene.platform.until(() => shown(scene, /^told: Asked, as #1/).length === 2);
  assert.equal((await scene.rows()).length, 1);
});

test("an agent without the tool cannot ask", async () => {
  await using scene = await openScene();
  await using weir = await scene.start({ config: "[defaults.questions]\nenabled = false" });
  await say(weir, askFor());
  await scene.platform.until(() => shown(scene, /^told: Error/).length > 0);
  assert.deepEqual(await scene.rows(), []);
});

test("a question waits over a restart, also answered before a daemon that has to tell of it", async () => {
  await using scene = await openScene();
  {
    await using weir = await scene.start();
    await say(weir, askFor());
    await seen(scene, /^#1: main asks/);
    await until("the note of it", async () => (await scene.rows())[0]?.shown === "asked");
  }
  // What a press has written before its daemon was killed.
  await scene.open.sql(
    "update approvals set state = 'answered', answer = 'Red', decided_by = 'u-ann', decided_name = 'Ann', decided_at = now()",
  );
  for (let start = 0; start < 2; start++) {
    await using _ = await scene.start();
    await seen(scene, /^heard: You asked: Which colour\?\nAnn has chosen: Red/);
    await seen(scene, /^#1: main asked: Which colour\?\nAnn has chosen: Red$/);
  }
  await using weir = await scene.start();
  await say(weir, askFor());
  await seen(scene, /^#2: main asks/);
});

test("a plain message answers a question of an earlier daemon", async () => {
  await using scene = await openScene();
  {
    await using weir = await scene.start();
    await say(weir, askFor());
    await seen(scene, /^#1: main asks/);
  }
  await using weir = await scene.start();
  await until("the answer", async () => {
    await say(weir, "1");
    return (await scene.rows())[0]?.state === "answered";
  });
  await seen(scene, /^heard: .*\nAnn has chosen: Red/);
});

test("a deletion of the request ends its question; a deletion of the answer takes name and words from the card", async () => {
  await using scene = await openScene();
  await using weir = await scene.start();
  await weir.say(askFor(), { channel: ROOM, workspace: "w", author: authorOf(ANN), id: "first" });
  await seen(scene, /^#1: main asks/);
  await weir.daemon.inbox.receive({
    type: "deletion",
    platform: "discord",
    channel: ROOM,
    id: "first",
    at: new Date(),
  });
  await seen(scene, /^#1: Void: what it was asked for was taken back/);
  assert.equal((await scene.rows())[0]?.arguments, "");
  await say(weir, askFor({ question: "Which wall?" }));
  await seen(scene, /^#2: main asks/);
  assert.equal(await typed(weir, "answer 2 1"), "Your answer is noted.");
  await seen(scene, /^heard: You asked: Which wall\?/);
  await weir.daemon.inbox.receive({
    type: "deletion",
    platform: "discord",
    channel: ROOM,
    id: "approval/2",
    at: new Date(),
  });
  await seen(scene, /^#2: main asked: Which wall\?\nSomebody has answered\.$/);
  const [row] = await scene.open.sql("select answer, decided_by, decided_name from approvals where id = 2");
  assert.deepEqual(row, { answer: "", decidedBy: null, decidedName: "" });
});

test("a reset ends what is asked", async () => {
  await using scene = await openScene();
  await using weir = await scene.start({ platform: new TestPlatform({ serves: () => true }) });
  await weir.say(askFor());
  await weir.platform.until(() => shownIn(weir.platform, "room", /^#1: main asks/).length === 1);
  await command(weir, "room", "reset");
  await weir.platform.until(
    () => shownIn(weir.platform, "room", /^#1: [^]*Void: what it was asked for/).length === 1,
  );
  assert.match(await command(weir, "room", "answer 1 1"), /^#1 is over already\. Void/);
});
