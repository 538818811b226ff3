import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { checkFold, compactionParts, openScene, script, summariserRequests } from "../support/compaction.ts";
import { BACKGROUND, fillTo } from "../support/full-channel.ts";
import { text } from "../support/model-behaviours.ts";

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
