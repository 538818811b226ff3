// proves: src/store/compaction/jobs.ts, src/store/compaction/summaries.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { CommitOutcome, Job, JobPlan, JobResult } from "../../../src/core/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

const LEAF: Omit<JobPlan, "fromSeq" | "toSeq"> = {
  kind: "leaf",
  tier: "background",
  level: 1,
  sourceTokens: 900,
};

function result(text: string, memories: JobResult["memories"] = []): JobResult {
  return { parts: [], memories, summary: { kind: "model", text, tokens: 90, model: "small" } };
}

async function commit(job: Job, done: JobResult): Promise<CommitOutcome> {
  assert.ok(await store.jobs.stage(job, done));
  return store.jobs.commit(job);
}

async function room(name: string, messages: number): ReturnType<typeof weir.channel> {
  const owner = await weir.channel(name);
  for (let index = 0; index < messages; index++)
    await weir.say(owner.id, `line ${index}`, { id: `${name}-${index}` });
  return owner;
}

const PHASES = { landed: 0, waiting: 0, failed: 1, stale: 0 };

test("the list holds each job with its summary, newest last, and the live job is in it", async () => {
  const { id, epoch } = await room("listed", 12);
  const owner = { channel: id, epoch };
  assert.deepEqual(await store.compactions.list(id, 20), []);
  assert.equal(await store.compactions.liveJob(id), null);

  const failed = await store.jobs.begin(owner, { ...LEAF, fromSeq: 1, toSeq: 4 });
  await store.jobs.fail(failed, "the model is away");
  const first = await store.jobs.begin(owner, { ...LEAF, fromSeq: 1, toSeq: 4 });
  const memory = {
    type: "fact",
    subject: "Ann",
    assertedBy: "Ann",
    statement: "Ann rows.",
    importance: 0.5,
    at: "2026-11-21T12:00:00Z",
    sources: [{ seq: 1, quote: "line 0" }],
  } as const;
  assert.equal(await commit(first, result("They greeted.", [memory])), "committed");
  const running = await store.jobs.begin(owner, { ...LEAF, tier: "forced", fromSeq: 5, toSeq: 8 });

  assert.deepEqual(await store.compactions.totals(id), {
    committed: { background: 1, aggressive: 0, emergency: 0, forced: 0 },
    saved: { background: 810, aggressive: 0, emergency: 0, forced: 0 },
    ...PHASES,
    sourceTokens: 900,
    summaryTokens: 90,
  });

  const [one, two, three, ...more] = await store.compactions.list(id, 20);
  assert.deepEqual(more, []);
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  assert.equal(one.state, "failed");
  assert.equal(one.reason, "the model is away");
  assert.equal(one.summary, null);
  const { createdAt, endedAt, ms, ...rest } = two;
  assert.ok(endedAt !== null);
  assert.equal(ms, endedAt.getTime() - createdAt.getTime());
  assert.deepEqual(rest, {
    id: first.id,
    kind: "leaf",
    tier: "background",
    state: "committed",
    attempt: 1,
    fromSeq: 1,
    toSeq: 4,
    messages: 4,
    level: 1,
    sourceTokens: 900,
    summary: {
      kind: "model",
      model: "small",
      tokens: 90,
      live: true,
      needsRedo: false,
      text: "They greeted.",
    },
    memories: 1,
    reason: null,
  });
  assert.equal(three.id, running.id);
  assert.equal(three.ms, null);
  assert.deepEqual(await store.compactions.liveJob(id), three);
  assert.deepEqual(await store.compactions.find(first.id), two);
  assert.deepEqual(
    (await store.compactions.list(id, 2)).map((job) => job.id),
    [first.id, running.id],
    "the limit keeps the newest",
  );
});

test("a summary that was written again is shown as replaced, and notices are not counted", async () => {
  const { id, epoch } = await room("again", 6);
  const owner = { channel: id, epoch };
  const first = await store.jobs.begin(owner, { ...LEAF, fromSeq: 1, toSeq: 3 });
  await commit(first, result("As it was."));
  const redo = await store.jobs.begin(owner, { ...LEAF, kind: "redo", fromSeq: 1, toSeq: 3 });
  await commit(redo, result("As it is."));
  const [old, now] = await store.compactions.list(id, 20);
  assert.equal(old?.summary?.live, false);
  assert.equal(now?.summary?.live, true);
  assert.equal(now.summary.text, "As it is.");

  await store.turns.begin({ channel: id, epoch }, 1, 6);
  await store.log.edit(id, "again-5", "line five", new Date(), TEST_DIGESTER);
  const { channel } = await store.load(id);
  const last = await store.jobs.begin(owner, { ...LEAF, fromSeq: 4, toSeq: channel.lastSeq });
  assert.equal(channel.lastSeq, 7, "the edit left a notice");
  assert.equal((await store.compactions.find(last.id))?.messages, 3);
});

test("a summary tells how many messages it is of, and from when to when; a merge tells it of all of them", async () => {
  const { id, epoch } = await weir.channel("spans");
  const owner = { channel: id, epoch };
  const at = (minute: number): Date => new Date(Date.UTC(2026, 4, 1, 10, minute));
  // The third came late, with an earlier time.
  for (const [index, minute] of [3, 5, 1, 9, 20, 30].entries())
    await weir.say(id, `line ${index}`, { id: `spans-${index}`, at: at(minute) });
  const cover = async (plan: Partial<JobPlan> & Pick<JobPlan, "fromSeq" | "toSeq">): Promise<void> => {
    const job = await store.jobs.begin(owner, { ...LEAF, ...plan });
    assert.equal(await commit(job, result("They greeted.")), "committed");
  };
  const spans = async (): Promise<unknown> => (await store.coverage(id)).summaries.map(({ span }) => span);
  const first = { messages: 4, firstAt: at(1), lastAt: at(9) };
  const second = { messages: 2, firstAt: at(20), lastAt: at(30) };

  await cover({ fromSeq: 1, toSeq: 4 });
  await cover({ fromSeq: 5, toSeq: 6 });
  assert.deepEqual(await spans(), [first, second]);
  await cover({ kind: "redo", fromSeq: 1, toSeq: 4 });
  assert.deepEqual(await spans(), [first, second]);
  await cover({ kind: "merge", fromSeq: 1, toSeq: 6, level: 2 });
  assert.deepEqual(await spans(), [{ messages: 6, firstAt: at(1), lastAt: at(30) }]);
});
