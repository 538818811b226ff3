// proves: src/features/subagents/channel-subagents.ts, src/features/subagents/turn-subagents.ts
// Subagents are those of the agent that has begun them, also where that is a guest: it is told how they ended, and nobody else.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../store/open-store.ts";
import { text } from "../../support/model-behaviours.ts";
import type { Behaviour, ChatRequest } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { isSubagents, spawn } from "../../support/subagents.ts";
import { openTogether, shownIn, THREE, told } from "../../support/together.ts";

const WITH_SUBAGENTS = `[defaults.subagents]\nenabled = true\nwait_ms = 50\n${THREE}`;

/** Begins a subagent in its first answer, which reports once `reports` resolves. */
function begins(task: string, reports: Promise<unknown>): (request: ChatRequest) => Behaviour {
  let isBegun = false;
  return (request) => {
    if (isSubagents(request))
      return async (exchange) => {
        await reports;
        return text(`It is about ${task}.`)(exchange);
      };
    const wasBegun = isBegun;
    isBegun = true;
    return wasBegun ? text(/has reported/.test(shownIn(request)) ? "I know." : "I wait.") : spawn(task);
  };
}

test("a guest is told of its subagent, beside one of the channel's own agent, and after a restart", async () => {
  await using scene = await openTogether();
  await using store = openStore(scene.connection);
  const reports = Promise.withResolvers<void>();
  {
    await using first = await scene.start({ config: WITH_SUBAGENTS });
    scene.script({ main: begins("oars", reports.promise), researcher: begins("anchors", reports.promise) });
    assert.deepEqual(await told(first, "look for oars"), ["I wait."]);
    assert.deepEqual(await told(first, "@res look for anchors"), ["**Researcher:** I wait."]);
  }
  await using second = await scene.start({ config: WITH_SUBAGENTS });
  reports.resolve();
  await second.platform.until(() => second.platform.texts().length === 2);
  await until(
    "end of all subagents",
    async () => (await store.sql("select from subagents where closed_at is null")).length === 0,
  );
  assert.deepEqual(second.platform.texts().toSorted(), ["**Researcher:** I know.", "I know."]);
  assert.deepEqual(await store.sql("select number, agent, state, told from subagents order by number"), [
    { number: 1, agent: "main", state: "done", told: "entry" },
    { number: 2, agent: "researcher", state: "done", told: "entry" },
  ]);
});
