// proves: src/compactor/policy/merge.ts, src/compactor/summary/requests.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_LIVE_SUMMARIES, SUMMARIES_SHARE, TOP_LEVEL } from "../../../src/core/compaction.ts";
import type { Summary } from "../../../src/core/history.ts";
import {
  ask,
  checkFold,
  compaction,
  compactions,
  listen,
  marks,
  openScene,
  quiet,
  said,
  script,
  SUMMARISER,
  summariserRequests,
} from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import type { ChatRequest } from "../../support/model-server.ts";
import type { TestWeir } from "../../support/weir.ts";
import { piecesIn } from "../../support/request-pieces.ts";

const WINDOW = 32_000;
const LINES = { window: WINDOW, compaction: "max_raw_messages = 10\nkeep_messages = 3" };

/** Names the first and the last reading of what is to be summarised. */
function summaryOf(request: ChatRequest): string {
  const numbers = marks(
    piecesIn(request).flatMap(({ content }) =>
      // The neighbour is background, and not part of it.
      content == null || content.startsWith("[System: background") ? [] : [content],
    ),
  );
  return `From gauge-${Math.min(...numbers)} to gauge-${Math.max(...numbers)} the river rose.`;
}

async function liveSummaries(weir: TestWeir, room: string): Promise<readonly Summary[]> {
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  return (await weir.daemon.store.load(row.id)).history.summaries;
}

test("summaries are merged when no place is left, one rolls on at the top, and the prompt shows them oldest first", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, (request) => text(summaryOf(request)));
  const room = "merged";
  await using weir = await scene.start(LINES);
  const levels = new Set<number>();
  let topEnd = 0;
  for (let number = 1; number <= 260; number++) {
    await listen(weir, room, number, number);
    await quiet(weir, room);
    const live = number < 20 ? [] : await liveSummaries(weir, room);
    assert.ok(live.length <= MAX_LIVE_SUMMARIES, `${live.length} are live`);
    const tokens = live.reduce((sum, summary) => sum + summary.tokens, 0);
    assert.ok(tokens <= SUMMARIES_SHARE.most * (WINDOW - 1024));
    for (const { level } of live) levels.add(level);
    const tops = live.filter((summary) => summary.level === TOP_LEVEL);
    assert.ok(tops.length < 2, "one at the top");
    if (live[0]?.level === TOP_LEVEL) topEnd = Math.max(topEnd, live[0].toSeq);
  }
  assert.deepEqual(
    [...levels].toSorted((a, b) => a - b),
    [1, 2, 3],
  );
  const merges = compactions(weir, room, "committed").filter(({ kind }) => kind === "merge");
  const intoTop = await scene.open.sql<{ fromSeq: number; toSeq: number }>(
    "select from_seq, to_seq from summaries where level = $1 order by id",
    TOP_LEVEL,
  );
  assert.ok(intoTop.length >= 2, `${intoTop.length} merges into the top, of ${merges.length}`);
  assert.ok(intoTop.every(({ fromSeq: from }) => from === 1));
  assert.equal(intoTop.at(-1)?.toSeq, topEnd, "it rolls on");

  const lines = said(await ask(weir, server, room, "what do you know?"));
  const shown = lines.filter((line) => line.startsWith("[Compaction Summary]: "));
  let told = 0;
  for (const [first = 0, last = 0, ...more] of shown.map((line) => marks(line))) {
    assert.deepEqual({ first, more }, { first: told + 1, more: [] }, "oldest first, and none is missing");
    told = last;
  }
  assert.ok(told >= topEnd && shown.length <= MAX_LIVE_SUMMARIES);
  assert.deepEqual(lines.slice(1, 1 + shown.length), shown);
  await checkFold(weir, room);
});

test("where no merge succeeds, a ninth summary is not made: a digest merges the eight", async () => {
  await using scene = await openScene();
  const { server } = scene;
  // Only a leaf is offered `memory_save`.
  script(server, (request) => text(request.tools === undefined ? "" : summaryOf(request)));
  const room = "stuck";
  await using weir = await scene.start();
  const digested = (): boolean =>
    compactions(weir, room, "committed").some(({ kind, model }) => kind === "merge" && model === "digest");
  for (let number = 1; !digested(); number++) {
    await listen(weir, room, number, number);
    await quiet(weir, room);
    assert.ok(number < 20 || (await liveSummaries(weir, room)).length <= MAX_LIVE_SUMMARIES);
  }
  const leaves = compactions(weir, room, "committed").filter(({ kind }) => kind === "leaf");
  const others = leaves.filter(({ tier, model }) => tier === "emergency" || model !== SUMMARISER);
  // A call that fails by itself is not tried again within a test, and an extract takes its place: that may happen once.
  assert.ok(others.length <= 1, JSON.stringify(others));
  const live = await liveSummaries(weir, room);
  assert.deepEqual(
    live.map(({ level }) => level),
    [2, 1],
  );
  await checkFold(weir, room);
});

test("a transcript that is larger than the summariser's window is read in parts, all of it", async () => {
  await using scene = await openScene();
  const { server } = scene;
  server.models = [
    { id: "test-model", context_length: WINDOW },
    { id: "summariser", context_length: 5000 },
  ];
  script(server, (request) => text(summaryOf(request)));
  const room = "parts";
  await using weir = await scene.start({
    window: WINDOW,
    compaction: "max_raw_messages = 90\nkeep_messages = 3\nbackground_threshold = 0.3\ntarget = 0.21",
  });
  await listen(weir, room, 1, 100);
  const { toSeq } = await compaction(weir, room, "committed");
  const parts = summariserRequests(server).filter((request) =>
    / are part \d+ of /.test(said(request).at(-1) ?? ""),
  );
  assert.ok(parts.length >= 2, `${parts.length} parts`);
  const read = marks(parts.map((request) => said(request).find((line) => /^\d+\. \[/.test(line)) ?? ""));
  assert.deepEqual(
    read,
    Array.from({ length: toSeq }, (_, index) => index + 1),
  );
  await checkFold(weir, room);
});
