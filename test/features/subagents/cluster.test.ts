// proves: src/features/subagents/subagent-desk.ts, src/channel/hand-over.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../store/open-store.ts";
import { openCluster } from "../../support/cluster/test-cluster.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { until } from "../../support/patience.ts";
import {
  askedBySubagents,
  lastWords,
  results,
  rowsOf,
  scriptBoth,
  spawn,
  untilClosed,
} from "../../support/subagents.ts";

const SEARCH = toolCalls([{ name: "search_history", arguments: { query: "boats" } }]);
const CONFIG = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\n[agents.subagents]\nenabled = true\n`;

for (const way of ["handed on", "lost"] as const)
  test(
    `a subagent of a channel that is ${way} goes on with its steps at the next home`,
    { timeout: 300_000 },
    async () => {
      await using database = await createTestDatabase();
      const { connection } = database;
      await using beside = openStore(connection);
      await using scene = await openCluster({ connection, config: CONFIG });
      const { a, b, cluster, server, platform } = scene;
      const room = "quay";
      let isHeld = true;
      scriptBoth(
        server,
        (request) => (results(request).length === 0 ? SEARCH : isHeld ? () => undefined : text("Four.")),
        (request) =>
          results(request).length === 0 && !/(?:is|are) over/.test(lastWords(request))
            ? spawn("count the boats")
            : text("answered"),
      );
      await cluster.give("a");
      await a.say("how many boats?", { room });
      await until(
        "second step",
        async () => (await rowsOf(beside, room))[0]?.["begun"] === 1 && askedBySubagents(server).length === 2,
      );
      isHeld = false;
      if (way === "lost") {
        await cluster.give("b");
        cluster.lose("a");
      } else await cluster.move("a", "b");
      await untilClosed(beside, room);
      await platform.until(() => platform.texts(room).length > 0);
      const asked = askedBySubagents(server);
      assert.equal(asked.filter((request) => results(request).length === 0).length, 1, "the first step once");
      assert.equal((await rowsOf(beside, room)).length, 1);
      assert.equal(a.daemon.registry.size, 0);
      assert.equal(b.daemon.registry.size, 1);
    },
  );
