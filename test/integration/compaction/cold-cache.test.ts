// proves: src/turn/turn.ts, src/turn/agent.ts, src/core/pace.ts, src/llm/caches/terms.ts
// Summaries that are written ahead, and land once the provider's cache has forgotten the channel.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ask,
  checkFold,
  compaction,
  compactionParts,
  compactions,
  listen,
  marks,
  openScene,
  quiet,
  said,
  script,
} from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";

const MINUTE_MS = 60_000;
/** Readings after which one stretch is written; nothing is due. */
const READINGS = 55;
const LINES = {
  ahead: true,
  window: 12_288,
  // Its cache lives half an hour.
  top: '[models."test-model"]\ncache_markers = "breakpoints"',
};

test("what is written ahead lands for nothing when the cache is cold, also in a daemon that has just started", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => text("Ann measures the river each morning."));
  let laterMs = 0;
  const now = () => new Date(Date.now() + laterMs);
  const room = "slow";
  const start = async () => scene.start(LINES, compactionParts(), {}, now);
  const shown = async (weir: TestWeir, question: string) =>
    marks(said(await ask(weir, server, room, question)));
  {
    await using weir = await start();
    await listen(weir, room, 1, READINGS);
    await compaction(weir, room, "written", 1);
    await quiet(weir, room);
    assert.equal((await shown(weir, "what is the level?")).length, READINGS, "all of it is in view");
    laterMs += 25 * MINUTE_MS;
    assert.equal((await shown(weir, "and now?")).length, READINGS, "the cache still has it");
    assert.deepEqual(compactions(weir, room, "committed"), []);
    await quiet(weir, room);
  }
  laterMs += 31 * MINUTE_MS;
  await using weir = await start();
  const left = await shown(weir, "is anybody there?");
  assert.ok(left.length < READINGS, "the first request after the wait has the summary");
  await compaction(weir, room, "committed", 1);
  await quiet(weir, room);
  await checkFold(weir, room);
});
