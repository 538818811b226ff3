// proves: src/store/database/errors.ts, src/channel/actor.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { SearchStore } from "../../../src/store/search/search.ts";
import {
  checkFold,
  compactionParts,
  openScene,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, text } from "../../support/model-behaviours.ts";
import { cutAfterFirstSettlement } from "../../support/cut-settlement.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;
const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";

test("a commit of which nobody heard is seen in the log, and its range is not paid for again", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => text(SUMMARY));
  const room = "unheard";
  await fillTo(scene, room, BACKGROUND, { window: 28_000 });
  await using weir = await scene.start({ window: 28_000 }, compactionParts("short"));
  const { jobs } = weir.daemon.store;
  const commit = jobs.commit.bind(jobs);
  let cuts = 0;
  jobs.commit = async (job) => {
    const outcome = await commit(job);
    // The connection ends behind the commit.
    if (cuts++ === 0) throw new Error("Connection terminated unexpectedly");
    return outcome;
  };
  await weir.say("are you there?", { room });
  await weir.event("compaction_interrupted", () => cuts > 0);
  // After a rest it looks what has become of the job.
  await delay(200);
  await weir.daemon.registry.compactionsIdle();
  assert.equal(summariserRequests(server).length, 1, "paid once");
  await checkFold(weir, room);
});

test("a stop ends the turn whose settlement was not heard of, and no other", async () => {
  await using server = await startModelServer();
  await using database = await createTestDatabase();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  server.reply(stalledStream("Well"), text("four"));
  const settled = cutAfterFirstSettlement(weir);
  await weir.say("tell me a tale", { room: "stop", id: "s1" });
  await server.received(1);
  const channel = { platform: "test", name: "stop" };
  const asker = { id: "u-ann", name: "Ann", roles: [] };
  // Where the model has said nothing yet, nothing is kept of it.
  await weir.daemon.inbox.command({ channel, name: "stop", argument: "", asker });
  await settled;
  await weir.say("and what is 2+2?", { room: "stop", id: "s2" });
  const end = await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("s2"));
  assert.equal(end.outcome, "answered");
});

test("an answer whose settlement was not heard of is indexed without a further message", async () => {
  await using server = await startModelServer();
  await using database = await createTestDatabase();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  const { search } = weir.daemon.store;
  server.respond(() => text("the zebra is striped"));
  // Not settled before the message itself is indexed.
  void cutAfterFirstSettlement(weir, async () => untilIndexed(search));
  await weir.say("zebra?", { room: "index", id: "i1" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:index");
  await untilIndexed(search);
});

/** Fails by the time limit of the test where it never is. */
async function untilIndexed(search: SearchStore): Promise<void> {
  while ((await search.behind()).length > 0) await delay(50);
}
