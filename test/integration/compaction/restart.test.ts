// proves: src/compactor/job-runner.ts, src/store/compaction/jobs.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OpenStore } from "../../store/open-store.ts";
import {
  ask,
  checkFold,
  compaction,
  compactions,
  hold,
  marks,
  openScene,
  quiet,
  reading,
  said,
  script,
  summariserAsked,
  summariserRequests,
} from "../../support/compaction.ts";
import { AGGRESSIVE, BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { text } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";
import { piecesIn } from "../../support/request-pieces.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const LABELLED = `[Compaction Summary]: ${SUMMARY}`;

async function jobs(open: OpenStore): Promise<Record<string, unknown>[]> {
  return open.sql("select state, attempt from jobs order by id");
}

test("a daemon that ends while its summariser is asked leaves the job: the next one begins it again and commits", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const held = hold();
  script(server, (_, index) => (index === 0 ? held.behaviour : text(SUMMARY)));
  const room = "left";
  await fillTo(scene, room, BACKGROUND);
  {
    await using dying = await scene.start();
    await ask(dying, server, room, "are you there?");
    await summariserAsked(server, 1);
  }
  assert.equal(await (await summariserAsked(server, 1)).done, "aborted");
  assert.deepEqual(await jobs(open), [{ state: "running", attempt: 1 }]);
  await using weir = await scene.start();
  const { job } = await compaction(weir, room, "committed");
  assert.deepEqual(await jobs(open), [{ state: "committed", attempt: 2 }], "nobody had to say anything");
  assert.equal(compactions(weir, room, "started")[0]?.job, job);
  assert.deepEqual(said(await summariserAsked(server, 2)), said(await summariserAsked(server, 1)));
  assert.equal(said(await ask(weir, server, room, "and now?"))[1], LABELLED);
  await checkFold(weir, room);
});

/** The database fails at each commit, as one that is being shut down. */
async function breakCommits({ db }: OpenStore): Promise<void> {
  await db.script(`
    alter function commit_job(bigint, integer) rename to commit_job_kept;
    create function commit_job(p_job bigint, p_attempt integer, out outcome text) language plpgsql as $$
    begin
      raise exception 'terminating connection due to administrator command' using errcode = '57P01';
    end $$;`);
}

async function mendCommits({ db }: OpenStore): Promise<void> {
  await db.script(`
    drop function commit_job(bigint, integer);
    alter function commit_job_kept(bigint, integer) rename to commit_job;`);
}

for (const isRestarted of [false, true]) {
  const who = isRestarted ? "the next daemon" : "the same daemon";
  test(`a commit that the database did not take is repeated by ${who}, and nobody is paid twice`, async () => {
    await using scene = await openScene();
    const { server, open } = scene;
    script(server, () => text(SUMMARY));
    const room = "staged";
    await fillTo(scene, room, BACKGROUND);
    await breakCommits(open);
    await using stack = new AsyncDisposableStack();
    let weir = stack.use(await scene.start());
    await ask(weir, server, room, "are you there?");
    await weir.event("compaction_interrupted");
    assert.deepEqual(await jobs(open), [{ state: "staged", attempt: 1 }]);
    const lines = said(await ask(weir, server, room, "is it covered?"));
    assert.ok(!lines.some((line) => line.startsWith("[Compaction Summary]")), "cover, then cut");
    if (isRestarted) await weir[Symbol.asyncDispose]();
    await mendCommits(open);
    if (isRestarted) weir = stack.use(await scene.start());
    await compaction(weir, room, "committed");
    assert.deepEqual(await jobs(open), [{ state: "committed", attempt: 1 }]);
    assert.equal(summariserRequests(server).length, 1);
    assert.equal(said(await ask(weir, server, room, "and now?"))[1], LABELLED);
    await checkFold(weir, room);
  });
}

test("finished parts of a long transcript are not asked for again after a restart", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  server.models = [{ id: "summariser", context_length: 5000 }];
  const held = hold();
  script(server, (_, index) => (index === 2 ? held.behaviour : text(`Part ${index}: the river rose.`)));
  const room = "parts";
  const lines = { window: 32_000, compaction: "keep_messages = 3" };
  await fillTo(scene, room, BACKGROUND, lines);
  {
    await using dying = await scene.start(lines);
    await ask(dying, server, room, "are you there?");
    await summariserAsked(server, 3);
  }
  const [saved] = await open.sql<{ parts: number; state: string }>(
    "select state, jsonb_array_length(result->'parts') as parts from jobs",
  );
  assert.deepEqual(saved, { state: "running", parts: 2 });
  await using weir = await scene.start(lines);
  const { toSeq } = await compaction(weir, room, "committed");
  const transcripts = summariserRequests(server).flatMap((request) => {
    const transcript = said(request).find((line) => /^\d+\. \[/.test(line));
    return transcript === undefined ? [] : [transcript];
  });
  const [first, second, third, again, ...rest] = transcripts;
  assert.equal(again, third, "it goes on with the part that was not finished");
  const firstLine = (transcript = ""): number => Number(/^\d+/.exec(transcript)?.[0]);
  const starts = [first, second, again, ...rest].map(firstLine);
  assert.deepEqual(
    starts,
    [...new Set(starts)].toSorted((a, b) => a - b),
  );
  assert.equal(Number(/(?:^|\n)(\d+)\. [^\n]*$/.exec(transcripts.at(-1) ?? "")?.[1]), toSeq);
  const [summary] = await open.sql<{ text: string }>("select text from summaries");
  assert.match(summary?.text ?? "", /^Part 0: the river rose\.\nPart 1: the river rose\.\nPart 3:/);
  await checkFold(weir, room);
});

test("another daemon takes the channel while a job runs: it finishes the job, and the first one does no harm", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const helds = [hold(), hold()];
  script(server, (_, index) => helds[index]?.behaviour ?? text("zxqthird: nobody has to ask again."));
  const room = "taken";
  await fillTo(scene, room, BACKGROUND);
  await using first = await scene.start();
  await ask(first, server, room, "are you there?");
  const request = await summariserAsked(server, 1);
  await using second = await scene.start();
  await summariserAsked(server, 2);
  assert.equal(request.outcome, "open");
  helds[0]?.release(text("zxqlate: of the daemon that lost the channel."));
  await compaction(first, room, "stale");
  assert.deepEqual(await jobs(open), [{ state: "running", attempt: 2 }]);
  helds[1]?.release(text(SUMMARY));
  await compaction(second, room, "committed");
  assert.deepEqual(await jobs(open), [{ state: "committed", attempt: 2 }]);
  assert.deepEqual(await open.sql("select text from summaries"), [{ text: SUMMARY }]);
  assert.equal(said(await ask(second, server, room, "and now?"))[1], LABELLED);
  // What the first one is told is answered once, with the summary in view, by whoever has the channel then.
  assert.equal(said(await ask(first, server, room, "and you?"))[1], LABELLED);
  await checkFold(first, room);
});

test("the label of a summary says what it is of, and is the same bytes turn after turn and after a restart", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, () => text(SUMMARY));
  const room = "labelled";
  const lines = { compaction: "keep_messages = 3" };
  const { id } = await open.channel(room);
  for (let number = 1; number <= 30; number++) {
    const at = new Date(Date.UTC(2026, 4, 1, 10, number));
    await open.say(id, reading(number), { addressed: false, id: `${room}-${number}`, at });
  }
  const shown: string[] = [];
  const turn = async (weir: TestWeir, question: string): Promise<void> => {
    const { body } = await ask(weir, server, room, question);
    shown.push(piecesIn(body)[1]?.content ?? "");
  };
  {
    await using weir = await scene.start(lines);
    await ask(weir, server, room, "are you there?");
    const forced = await weir.daemon.registry.loaded(id)?.compactor.force();
    assert.equal(forced?.kind, "committed");
    await turn(weir, "what was it?");
    await turn(weir, "and then?");
  }
  await using weir = await scene.start(lines);
  await turn(weir, "and now?");
  // What is kept are the last reading, the question and its answer.
  const label = "[Compaction Summary]: (2026-05-01 10:01 – 10:29, 29 messages from #1)";
  assert.deepEqual(shown, Array(3).fill(`${label} ${SUMMARY}`));
  await checkFold(weir, room);
});

test("a range of more parts than an attempt has calls for is covered by several jobs, and nothing is read twice", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  server.models = [{ id: "summariser", context_length: 6000 }];
  script(server, (_, index) => text(`Part ${index}: the river rose.`));
  const room = "long";
  const lines = { window: 64_000, compaction: "keep_messages = 3" };
  await fillTo(scene, room, AGGRESSIVE, lines);
  await using weir = await scene.start(lines);
  await ask(weir, server, room, "are you there?");
  await quiet(weir, room);
  const leaves = await open.sql<{ state: string; attempt: number }>(
    "select state, attempt from jobs where kind = 'leaf'",
  );
  assert.ok(leaves.length > 1, JSON.stringify(leaves));
  for (const leaf of leaves) assert.deepEqual(leaf, { state: "committed", attempt: 1 });
  const transcripts = summariserRequests(server).flatMap((request) =>
    said(request).filter((line) => /^\d+\. \[/.test(line)),
  );
  assert.ok(transcripts.length > 10, "more parts than one attempt may ask for");
  assert.ok(transcripts.length <= 10 * leaves.length);
  const read = transcripts.flatMap((transcript) => marks(transcript));
  const { id } = await open.channel(room);
  const { coveredTo } = (await weir.daemon.store.load(id)).history;
  assert.deepEqual(
    read,
    Array.from({ length: coveredTo }, (_, index) => index + 1),
  );
  await checkFold(weir, room);
});
