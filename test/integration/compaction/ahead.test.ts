// proves: src/compactor/compactor.ts, src/compactor/policy/policy.ts, src/store/compaction/jobs.ts
// Summaries that are written ahead of their need, and land together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { rowsWith } from "../../store/rows-with.ts";
import {
  agentRequests,
  ask,
  checkFold,
  compaction,
  compactions,
  hold,
  listen,
  marks,
  openScene,
  quiet,
  reading,
  said,
  type Scene,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { status, text } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";

/** Two stretches fit before the messages that are kept, and a third with them. */
const LINES = { ahead: true, window: 12_288 };
const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
/** Readings after which one stretch is written, and two; nothing is due. */
const ONE = 55;
const TWO = 85;
/** With what stands there before it, over the window: there is room for it once both stretches have landed. */
const PASTE_TOKENS = 3500;

interface JobState extends Record<string, unknown> {
  readonly id: number;
  readonly state: string;
  readonly fromSeq: number;
  readonly toSeq: number;
}

async function jobs({ open }: Scene): Promise<JobState[]> {
  return open.sql<JobState>("select id, state, from_seq, to_seq from jobs order by id");
}

async function waiting(scene: Scene): Promise<JobState[]> {
  return (await jobs(scene)).filter(({ state }) => state === "ahead");
}

async function change(
  weir: TestWeir,
  room: string,
  what: { type: "deletion" } | { type: "edit"; text: string },
) {
  const channel = { platform: "test", name: room };
  const id = `${room}-3`;
  await weir.daemon.inbox.receive({ ...what, platform: "test", channel, id, at: new Date() });
  await quiet(weir, room);
}

/** Says readings until what was written ahead has landed. @returns the number of the last one */
async function listenUntilLanded(weir: TestWeir, room: string, from: number): Promise<number> {
  let number = from;
  while (compactions(weir, room, "committed").length === 0) {
    await listen(weir, room, number, number);
    await quiet(weir, room);
    number++;
  }
  return number - 1;
}

test("summaries are written ahead, in no view, and land together when a tier is reached", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, () => text(SUMMARY));
  const room = "ahead";
  await using weir = await scene.start(LINES);
  await listen(weir, room, 1, TWO);
  await compaction(weir, room, "written", 2);
  await quiet(weir, room);
  const [first, second, ...more] = await waiting(scene);
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual([first.fromSeq, second.fromSeq, more], [1, first.toSeq + 1, []]);
  assert.deepEqual(await open.sql("select from summaries"), []);
  const before = said(await ask(weir, server, room, "what is the level?"));
  assert.deepEqual(
    marks(before),
    Array.from({ length: TWO }, (_, index) => index + 1),
    "all of it is in view",
  );
  assert.ok(!before.some((line) => line.startsWith("[Compaction Summary]")));

  const last = await listenUntilLanded(weir, room, TWO + 1);
  const landed = compactions(weir, room, "committed");
  assert.ok(landed.length >= 2, `${landed.length} landed together`);
  assert.deepEqual(
    landed.map(({ job }) => job),
    compactions(weir, room, "written").map(({ job }) => job),
  );
  const after = said(await ask(weir, server, room, "and now?"));
  assert.equal(after.filter((line) => line.startsWith("[Compaction Summary]")).length, landed.length);
  const raw = marks(after.slice(1 + landed.length));
  assert.equal(raw.at(-1), last);
  assert.ok((raw[0] ?? 0) > (landed.at(-1)?.toSeq ?? Infinity) - 5, "what has landed is raw no more");
  const read = summariserRequests(server).flatMap((request) => marks(said(request)));
  assert.equal(new Set(read).size, read.length, "each message is read by a summariser once");
  await checkFold(weir, room);
});

test("what is written lands without a model where room is wanted at once, also while another summary is written", async () => {
  await using scene = await openScene();
  const { server } = scene;
  const held = hold();
  script(server, (_, index) => (index < 2 ? text(SUMMARY) : held.behaviour));
  const room = "at-once";
  await using weir = await scene.start(LINES);
  await listen(weir, room, 1, TWO);
  await compaction(weir, room, "written", 2);
  await quiet(weir, room);
  assert.equal((await waiting(scene)).length, 2);
  const logged = "a long line of a log that nobody will read again ";
  const paste = `what do you think of this? ${logged.repeat(Math.round(PASTE_TOKENS / estimateTokens(logged)))}`;
  const lines = said(await ask(weir, server, room, paste));
  assert.deepEqual(
    weir.events.filter(({ type }) => type === "emergency"),
    [],
  );
  assert.equal(lines.filter((line) => line.startsWith("[Compaction Summary]")).length, 2);
  assert.equal(compactions(weir, room, "committed").length, 2);
  held.release(text(SUMMARY));
  await checkFold(weir, room);
});

test("a deletion voids the stretch alone in which it is, and that is written again without the message", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, ({ messages }) =>
    text(JSON.stringify(messages).includes("gauge-3:") ? `${SUMMARY} gauge-3` : SUMMARY),
  );
  const room = "deleted";
  await using weir = await scene.start(LINES);
  await listen(weir, room, 1, TWO);
  await compaction(weir, room, "written", 2);
  await quiet(weir, room);
  const [first, second] = await waiting(scene);
  assert.ok((await rowsWith(open, "gauge-3")).includes("jobs"));
  await change(weir, room, { type: "deletion" });
  assert.equal((await jobs(scene)).find(({ id }) => id === first?.id)?.state, "stale");
  const again = await waiting(scene);
  assert.ok(again.some(({ id }) => id === second?.id));
  const rewritten = again.find(({ id }) => id !== second?.id);
  assert.deepEqual(
    [rewritten?.fromSeq, rewritten?.toSeq],
    [first?.fromSeq, first?.toSeq],
    "the same stretch",
  );
  assert.deepEqual(await open.sql("select id from jobs where result::text ~ 'gauge-3\\M'"), []);
  await listenUntilLanded(weir, room, TWO + 1);
  assert.deepEqual(await open.sql("select id from summaries where text ~ 'gauge-3\\M'"), []);
  await checkFold(weir, room);
});

test("an edit voids its stretch, too; what lands knows the new text alone", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, ({ messages }) => {
    const all = JSON.stringify(messages);
    return text(
      ["zxqold", "zxqnew"].filter((word) => all.includes(word)).reduce((a, b) => `${a} ${b}`, SUMMARY),
    );
  });
  const room = "edited";
  await using weir = await scene.start(LINES);
  await listen(weir, room, 1, 2);
  await weir.say(`${reading(3)} zxqold`, { room, addressed: false, id: `${room}-3` });
  await listen(weir, room, 4, ONE);
  await compaction(weir, room, "written");
  await quiet(weir, room);
  assert.equal((await waiting(scene)).length, 1);
  await change(weir, room, { type: "edit", text: `${reading(3)} zxqnew` });
  await listenUntilLanded(weir, room, ONE + 1);
  assert.deepEqual(await rowsWith(open, "zxqold"), []);
  const [summary] = await open.sql<{ text: string }>("select text from summaries order by from_seq");
  assert.match(summary?.text ?? "", /zxqnew/);
  await checkFold(weir, room);
});

test("what one daemon has written the next one commits, and no model is asked again", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => text(SUMMARY));
  const room = "handed-on";
  {
    await using weir = await scene.start(LINES);
    await listen(weir, room, 1, TWO);
    await compaction(weir, room, "written", 2);
    await quiet(weir, room);
    assert.equal((await waiting(scene)).length, 2);
  }
  const asked = summariserRequests(server).length;
  script(server, () => status(503));
  await using weir = await scene.start(LINES);
  await listenUntilLanded(weir, room, TWO + 1);
  const landed = compactions(weir, room, "committed");
  assert.deepEqual(
    landed.map(({ model }) => model),
    ["summariser", "summariser"],
  );
  assert.ok(asked >= 2 && agentRequests(server).length === 0);
  await checkFold(weir, room);
});

test("/reset and a forced compaction leave nothing waiting", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => text(SUMMARY));
  await using weir = await scene.start(LINES);
  for (const room of ["forced", "reset"]) {
    await listen(weir, room, 1, ONE);
    await compaction(weir, room, "written");
    await quiet(weir, room);
    assert.equal((await waiting(scene)).length, 1, room);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
    const actor = row && weir.daemon.registry.loaded(row.id);
    assert.ok(actor !== undefined);
    if (room === "reset") await actor.history.reset(ONE);
    else {
      const outcome = await actor.compactor.force();
      assert.equal(outcome.kind, "committed");
      assert.ok(compactions(weir, room, "committed").length >= 1);
    }
    assert.deepEqual(await waiting(scene), [], room);
    await checkFold(weir, room);
  }
});
