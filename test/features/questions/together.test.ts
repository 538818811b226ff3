// proves: src/features/questions/question-desk.ts, src/features/questions/question-board.ts, src/features/questions/commands.ts
// A call of a guest that waits is the guest's: people read who asks, its approvers decide, it runs in the guest's turn, and once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../store/open-store.ts";
import { ANN, BEN, command } from "../../support/commands.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { openTogether, shownIn, THREE, told } from "../../support/together.ts";

const GATED = THREE.replace(
  'model = "researcher-model"',
  'model = "researcher-model"\napprovals = { tools = { search_history = "always" }, approvers = ["discord:u-ben"] }',
);

test("an allowed call of a guest runs in the guest's turn, once its approver has allowed it", async () => {
  await using scene = await openTogether();
  await using store = openStore(scene.connection);
  await using weir = await scene.start({ config: GATED });
  const { platform } = weir;
  let isAsked = false;
  scene.script({
    researcher: (request) => {
      const searches = toolCalls([{ name: "search_history", arguments: { query: "oars" } }]);
      if (!isAsked) {
        isAsked = true;
        return searches;
      }
      return text(/has allowed the call/.test(shownIn(request)) ? "I have looked." : "I have asked.");
    },
  });
  const channel = { platform: "discord", name: "room" };
  const texts = await told(weir, "@res look for oars", { more: 2, channel });
  assert.ok(texts.includes("**Researcher:** I have asked."), texts.join("\n"));
  const asks = /^#1: Researcher asks for an approval, to use the tool search_history/;
  assert.ok(
    texts.some((one) => asks.test(one)),
    texts.join("\n"),
  );
  assert.match(await command(weir, "room", "approve 1", ANN, "discord"), /^That is for approvers only/);
  assert.equal(await command(weir, "room", "approve 1", BEN, "discord"), "Allowed: #1.");
  await platform.until(() => platform.texts().includes("**Researcher:** I have looked."));
  const [row] = await store.sql<{ state: string }>("select state from approvals");
  assert.equal(row?.state, "done");
  const results = await store.sql<{ text: string; agent: string }>(
    "select text, data->>'agent' as agent from entries where kind = 'tool_result' and data->>'call_id' = 'approval_1'",
  );
  assert.deepEqual(
    results.map(({ agent }) => agent),
    ["researcher"],
  );
  assert.doesNotMatch(results[0]?.text ?? "", /was not run/);
  assert.equal(scene.requests("main").length, 0);
});
