// proves: src/features/questions/question-desk.ts, src/features/questions/question-gate.ts, src/features/questions/approved-calls.ts, src/features/questions/commands.ts, src/features/questions/question-store.ts
// A call that needs an approval waits in the log, holds up nothing, and runs once somebody has allowed it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ANN, BEN, command } from "../../support/commands.ts";
import { openApprovals, shownIn } from "../../support/approvals.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { Asker } from "../../../src/platforms/platform.ts";

test("a call waits, the channel goes on, and what is allowed runs once", async () => {
  await using scene = await openApprovals();
  const { platform } = scene;
  await using weir = await scene.start();
  await weir.say("note buy milk");
  await platform.until(
    () => shownIn(platform, "room", /told: This waits for an approval, as #1/).length === 1,
  );
  await platform.until(() => shownIn(platform, "room", /^#1: main asks for an approval/).length === 1);
  assert.doesNotMatch(await scene.notes(), /milk/);
  await weir.say("and what else is there?");
  await platform.until(() => shownIn(platform, "room", /^fine$/).length === 1);
  assert.equal(await command(weir, "room", "approve 1", BEN), "Allowed: #1.");
  await platform.until(() => shownIn(platform, "room", /told: Noted/).length === 1);
  await platform.until(() => shownIn(platform, "room", /^#1: Allowed by Ben\./).length === 1);
  assert.match(await scene.notes(), /buy milk/);
  assert.equal(await command(weir, "room", "approve 1", ANN), "#1 is decided already. Allowed by Ben.");
  assert.deepEqual(
    (await scene.rows()).map(({ state }) => state),
    ["done"],
  );
});

test("what is denied does not run, and the agent is told why", async () => {
  await using scene = await openApprovals();
  const { platform, server } = scene;
  await using weir = await scene.start();
  await weir.say("note buy milk");
  await platform.until(() => shownIn(platform, "room", /^#1: main asks/).length === 1);
  assert.equal(await command(weir, "room", "deny 1 we have some", BEN), "Denied: #1.");
  await platform.until(() => shownIn(platform, "room", /^#1: Denied by Ben\./).length === 1);
  await platform.until(() => shownIn(platform, "room", /^fine$/).length === 1);
  assert.match(
    JSON.stringify(server.requests.at(-1)?.body.messages),
    /approval #1, of note\] Ben has denied the call of note: it is not run\. They say: we have some/,
  );
  assert.doesNotMatch(await scene.notes(), /milk/);
});

test("an approved reaction is put under the message that it was asked for", async () => {
  await using scene = await openApprovals();
  const { platform, server } = scene;
  server.respond(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return text(`told: ${last.content}`);
    return /cheer/.test(JSON.stringify(messages)) && !/approval #/.test(JSON.stringify(messages))
      ? toolCalls([{ name: "react", arguments: { emoji: "🎉" } }])
      : text("fine");
  });
  await using weir = await scene.start({ approvals: 'tools = { react = "always" }' });
  await weir.say("cheer, please", { id: "cheered" });
  await platform.until(() => shownIn(platform, "room", /^#1: main asks/).length === 1);
  await weir.say("and what else is there?", { id: "later", addressed: false });
  assert.equal(await command(weir, "room", "approve 1", BEN), "Allowed: #1.");
  await platform.until(() => shownIn(platform, "room", /told: Your reaction is under/).length === 1);
  assert.deepEqual(platform.reactions, ["cheered 🎉"]);
});

test("an approver whom the binding does not answer decides all the same, and does nothing else", async () => {
  await using scene = await openApprovals();
  const { platform } = scene;
  const approvals = 'tools = { note = "always" }\napprovers = ["discord:u-ben"]';
  await using weir = await scene.start({ approvals, binding: { allowUsers: [ANN.id] } });
  await weir.say("note buy milk", { channel: { platform: "discord", name: "room" }, workspace: "w" });
  await platform.until(() => shownIn(platform, "room", /^#1: main asks/).length === 1);
  const typed = async (line: string, asker: Asker): Promise<string> =>
    command(weir, "room", line, asker, "discord");
  const eve = { id: "u-eve", name: "Eve", roles: [] };
  for (const line of ["approve 1", "deny 1", "approvals"])
    assert.match(await typed(line, eve), /^Here I answer only people/);
  for (const line of ["context", "memory", "stop"])
    assert.match(await typed(line, BEN), /^Here I answer only people/);
  assert.match(await typed("approvals", BEN), /^1 call waits/);
  assert.match(await typed("approve 1", ANN), /^That is for approvers only\./);
  assert.equal(await typed("approve 1", BEN), "Allowed: #1.");
  await platform.until(() => shownIn(platform, "room", /told: Noted/).length === 1);
});
