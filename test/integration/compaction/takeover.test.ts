// proves: src/channel/loader.ts, src/store/compaction/jobs.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ask,
  checkFold,
  compaction,
  compactions,
  fillLog,
  listen,
  openScene,
  quiet,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const DRAFT = { kind: "model", text: SUMMARY, tokens: 20, model: "summariser" } as const;

test("a commit of another owner that memory knows nothing of costs one stale job, not one after the other", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, () => text(SUMMARY));
  const room = "taken";
  const channel = await fillLog(open, room, 30);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  // A former owner wakes up, and commits what it had staged: a job is fenced by its attempt, not by the epoch.
  const row = await open.store.channels.find({ platform: "test", name: room });
  const owner = { channel, epoch: row?.epoch ?? 0 };
  const plan = {
    kind: "leaf",
    tier: "background",
    fromSeq: 1,
    toSeq: 5,
    level: 1,
    sourceTokens: 300,
  } as const;
  const job = await open.store.jobs.begin(owner, plan);
  await open.store.jobs.stage(job, { parts: [], memories: [], summary: DRAFT });
  assert.equal(await open.store.jobs.commit(job), "committed");

  for (let number = 31; compactions(weir, room, "committed").length === 0; number++) {
    await listen(weir, room, number, number);
    await quiet(weir, room);
  }
  const landed = await compaction(weir, room, "committed");
  assert.equal(landed.fromSeq, 6);
  assert.equal(compactions(weir, room, "stale").length, 1);
  assert.equal(summariserRequests(server).length, 2);
  await checkFold(weir, room);
});
