// proves: src/features/questions/shown-arguments.ts, src/features/questions/question-board.ts, src/features/questions/commands.ts, src/features/questions/approved-calls.ts
// Who decides reads what runs: nothing unseen, nothing that looks like something else, and where something is left out, that it is.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openApprovals, shownIn } from "../../support/approvals.ts";
import { BEN, command } from "../../support/commands.ts";
import type { ModelServer } from "../../support/model-server.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";

const HIDDEN = "pay p\u0430ypal\u202e1$\u{e006f}\u{e006b} \u2066x\u2069 ``` ok";
const SHOWN = String.raw`pay p\u{430}ypal\u{202E}1$\u{E006F}\u{E006B} \u{2066}x\u{2069} \u{60}\u{60}\u{60} ok`;
/** No page, list or question may have one of these. */
const UNSEEN = /[\u202a-\u202e\u2066-\u2069\u200b\u{e0000}-\u{e007f}\u0430]/u;

/** A model that calls the tool with these arguments, whatever it is asked, and then says what it was told. */
function calling(args: unknown): Parameters<ModelServer["respond"]>[0] {
  return ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return text(`told: ${last.content}`);
    return JSON.stringify(messages).includes("approval #")
      ? text("fine")
      : toolCalls([{ name: "note", arguments: args }]);
  };
}

test("an attack in the arguments is seen in the question and in the list, and runs as it was written", async () => {
  await using scene = await openApprovals();
  const { platform } = scene;
  await using weir = await scene.start();
  scene.server.respond(calling({ text: HIDDEN }));
  await weir.say("note it");
  await platform.until(() => shownIn(platform, "room", /^#1: main asks/).length === 1);
  const [question = ""] = shownIn(platform, "room", /^#1: main asks/);
  const list = await command(weir, "room", "approvals", BEN);
  const whole = await command(weir, "room", "approvals 1", BEN);
  for (const shown of [question, list, whole]) {
    assert.ok(shown.includes(SHOWN), shown);
    assert.doesNotMatch(shown, UNSEEN);
    assert.equal(shown.match(/```/g)?.length, 2);
  }
  assert.equal(
    await command(weir, "room", "approve 1 always", BEN).then((one) => one.split(",")[0]),
    "Allowed: #1",
  );
  await platform.until(() => shownIn(platform, "room", /told: Noted/).length === 1);
  const ran = await scene.open.sql<{ arguments: string }>(
    "select data->'calls'->0->>'arguments' as arguments from entries where data->'calls'->0->>'id' = 'approval_1'",
  );
  assert.deepEqual(
    ran.map((one) => one.arguments),
    [JSON.stringify({ text: HIDDEN })],
  );
  const rules = await command(weir, "room", "approvals", BEN);
  assert.ok(rules.includes(SHOWN), rules);
  assert.doesNotMatch(rules, UNSEEN);
});

test("what a question leaves out is named, and pages have all of it", async () => {
  await using scene = await openApprovals();
  const { platform } = scene;
  await using weir = await scene.start();
  const words = "a & b ".repeat(200);
  scene.server.respond(calling({ text: words }));
  await weir.say("note it");
  await platform.until(() => shownIn(platform, "room", /^#1: main asks/).length === 1);
  const [question = ""] = shownIn(platform, "room", /^#1: main asks/);
  assert.match(
    question,
    /… and \d+ characters more: \/approvals 1\n```\nNot all of it is shown here: \/approvals 1 shows the rest\. /,
  );
  const long = "a & b ".repeat(2000);
  await scene.open.sql(`update approvals set arguments = '${JSON.stringify({ text: long })}' where id = 1`);
  const pages = await Promise.all(
    ["1", "1 2", "1 3"].map(async (page) => command(weir, "room", `approvals ${page}`, BEN)),
  );
  assert.match(pages[0] ?? "", /\nThis is page 1 of 2, and goes on: \/approvals 1 2\.$/);
  assert.match(pages[1] ?? "", /\nThis is page 2 of 2\.$/);
  assert.equal(pages[2], "#1 has 2 pages.");
  const inBlock = pages.slice(0, 2).map((page) => /\ntool: note\n([^]*)\n```/.exec(page)?.[1] ?? "");
  assert.ok(inBlock.join("").includes(long));
  const list = await command(weir, "room", "approvals", BEN);
  assert.match(list, /characters more: \/approvals 1 \(until /);
});

test("arguments that were replaced after they were shown do not run", async () => {
  await using scene = await openApprovals();
  const { platform } = scene;
  await using weir = await scene.start();
  await weir.say("note buy milk");
  await platform.until(() => shownIn(platform, "room", /^#1: main asks/).length === 1);
  await scene.open.sql(`update approvals set arguments = '{"text":"sell the mill"}' where id = 1`);
  assert.equal(await command(weir, "room", "approve 1", BEN), "Allowed: #1.");
  await platform.until(
    () => shownIn(platform, "room", /told: This was not run: the tool of that name/).length === 1,
  );
  assert.doesNotMatch(await scene.notes(), /mill/);
});

test("nobody is asked about what nobody can read", async () => {
  await using scene = await openApprovals();
  const { platform, server } = scene;
  const deep = `${'{"a":'.repeat(40)}1${"}".repeat(40)}`;
  server.respond(calling(deep));
  await using weir = await scene.start();
  await weir.say("note it");
  await platform.until(
    () => shownIn(platform, "room", /told: Error: arguments of over 32 levels/).length === 1,
  );
  assert.deepEqual(await scene.rows(), []);
});
