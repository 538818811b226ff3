// proves: src/store/compaction/extracts.ts, src/store/deletion/deletions.ts, src/store/compaction/summaries.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsWith } from "../../store/rows-with.ts";
import {
  ask,
  checkFold,
  compaction,
  compactionParts,
  compactions,
  hold,
  marks,
  openScene,
  quiet,
  reading,
  said,
  type Scene,
  script,
  summariserAsked,
  summariserRequests,
} from "../../support/compaction.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";

const SECRET = "zxqsecret";
const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";

async function remove(weir: TestWeir, room: string, id: string): Promise<void> {
  const channel = { platform: "test", name: room };
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", channel, id, at: new Date() });
}

async function edit(weir: TestWeir, room: string, id: string, newText: string): Promise<void> {
  const channel = { platform: "test", name: room };
  const change = { type: "edit", platform: "test", channel, id, text: newText, at: new Date() } as const;
  await weir.daemon.inbox.receive(change);
}

/** The readings, and among them one that somebody will be sorry for; the fifth entry. @returns how many */
async function fillWithSecret(scene: Scene, room: string): Promise<number> {
  return fillTo(scene, room, BACKGROUND, {}, (number) =>
    number === 5 ? `The password of the sluice is ${SECRET}, Ann said so.` : reading(number),
  );
}

/** Two statements: one that only the fifth entry bears, and one that another one bears as well. */
const savesTwo = toolCalls([
  {
    name: "memory_save",
    arguments: {
      memories: [
        {
          type: "fact",
          subject: "the sluice",
          statement: "The sluice has a password.",
          quote: "password of the sluice",
          sources: [5],
        },
        {
          type: "fact",
          subject: "Ann",
          statement: "Ann wrote the reading into the green book.",
          quote: "Ann",
          sources: [5, 6],
        },
      ],
    },
  },
]);

test("a deleted message goes from summaries, memories and prompts; its summaries are written again without it", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (request, index) => {
    if (index === 0) return savesTwo;
    const isTold = request.messages.some(({ content }) => content?.includes(SECRET) === true);
    return text(isTold ? `The sluice's password is ${SECRET}. ${SUMMARY}` : SUMMARY);
  });
  const room = "deleted";
  const filled = await fillWithSecret(scene, room);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  assert.equal((await compaction(weir, room, "committed")).memories, 2);
  for (let number = filled + 1; compactions(weir, room, "committed").length < 2; number++) {
    await ask(weir, server, room, reading(number));
    await quiet(weir, room);
  }
  const before = await ask(weir, server, room, "what is the password?");
  assert.equal(
    said(before).filter((line) => line.startsWith("[Compaction") && line.includes(SECRET)).length,
    2,
  );
  assert.equal((await open.sql("select from memories")).length, 2);
  assert.notDeepEqual(await rowsWith(open, SECRET), []);

  const asked = server.requests.length;
  const redo = hold();
  script(server, () => redo.behaviour);
  await remove(weir, room, `${room}-5`);
  assert.deepEqual(await rowsWith(open, SECRET), [], "at once");
  const kinds = await open.sql("select kind, needs_redo from summaries where live order by from_seq");
  assert.deepEqual(kinds, [
    { kind: "digest", needsRedo: true },
    { kind: "digest", needsRedo: true },
  ]);
  assert.deepEqual(await open.sql("select statement from memories"), [
    { statement: "Ann wrote the reading into the green book." },
  ]);
  const between = said(await ask(weir, server, room, "is it gone?"));
  assert.match(between[1] ?? "", /^\[Compaction Summary\]: An extract, word for word/);
  await summariserAsked(server, 4);
  redo.release(text("Written again: the river rose."));
  await compaction(weir, room, "committed", 4);
  const later = said(await ask(weir, server, room, "and now?"));
  assert.deepEqual(later.slice(1, 3), Array(2).fill("[Compaction Summary]: Written again: the river rose."));
  for (const { body } of server.requests.slice(asked)) assert.ok(!JSON.stringify(body).includes(SECRET));
  assert.deepEqual(await rowsWith(open, SECRET), []);
  await checkFold(weir, room);
});

test("a deletion while its summary is being written: what is answered is thrown away, and it is begun anew", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const held = hold();
  script(server, (_, index) => (index === 0 ? held.behaviour : text(SUMMARY)));
  const room = "stale";
  await fillWithSecret(scene, room);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  const request = await summariserAsked(server, 1);
  assert.ok(JSON.stringify(request.body).includes(SECRET));
  await remove(weir, room, `${room}-5`);
  held.release(text(`The password is ${SECRET}.`));
  assert.equal((await compaction(weir, room, "stale")).job, compactions(weir, room, "started")[0]?.job);
  await compaction(weir, room, "committed");
  assert.ok(!JSON.stringify(summariserRequests(server)[1]?.body).includes(SECRET));
  const states = await open.sql("select state, result from jobs order by id");
  assert.deepEqual(states, [
    { state: "stale", result: null },
    { state: "committed", result: null },
  ]);
  const lines = said(await ask(weir, server, room, "and now?"));
  assert.equal(lines[1], `[Compaction Summary]: ${SUMMARY}`);
  assert.ok(!lines.join("\n").includes(SECRET));
  assert.deepEqual(await rowsWith(open, SECRET), []);
  await checkFold(weir, room);
});

test("an edit while its summary is being written: it is committed, then written again with the new text", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const held = hold();
  const redo = hold();
  script(server, (_, index) => (index === 0 ? held.behaviour : redo.behaviour));
  const room = "edited";
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  await summariserAsked(server, 1);
  await edit(weir, room, `${room}-5`, "gauge-5: no, the river fell to zxqnew.");
  held.release(text(SUMMARY));
  const { kind, toSeq } = await compaction(weir, room, "committed");
  assert.equal(kind, "leaf");
  const lines = said(await ask(weir, server, room, "and now?"));
  assert.equal(lines[1], `[Compaction Summary]: ${SUMMARY}`);
  assert.ok(
    lines.some((line) => line.includes("zxqnew")),
    "until then a note tells of it",
  );
  const second = said(await summariserAsked(server, 2));
  const transcript = second.find((line) => line.startsWith("1. [")) ?? "";
  assert.match(transcript, /\n5\. \[.*\] Ann: gauge-5: no, the river fell to zxqnew\./);
  assert.deepEqual(
    marks(transcript),
    Array.from({ length: toSeq }, (_, index) => index + 1),
  );
  redo.release(text("The river fell to zxqnew."));
  assert.equal((await compaction(weir, room, "committed", 2)).kind, "redo");
  const after = said(await ask(weir, server, room, "and after it?"));
  assert.equal(after[1], "[Compaction Summary]: The river fell to zxqnew.");
  assert.deepEqual(await open.sql("select count(*)::integer as live from summaries where live"), [
    { live: 1 },
  ]);
  await checkFold(weir, room);
});

test("where deletions leave next to nothing of a range, its extract stays, and no model is asked for another", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, () => text(SUMMARY));
  const room = "tiny";
  await fillTo(scene, room, BACKGROUND, {}, (number) => (number === 3 ? "ok" : reading(number)));
  await using weir = await scene.start({}, compactionParts("short"));
  await ask(weir, server, room, "are you there?");
  const { toSeq } = await compaction(weir, room, "committed");
  for (let number = 1; number <= toSeq; number++) {
    if (number !== 3) await remove(weir, room, `${room}-${number}`);
  }
  await weir.event("compaction", ({ channel, model }) => channel === `test:${room}` && model === "digest");
  const asked = summariserRequests(server).length;
  await ask(weir, server, room, "and now?");
  await quiet(weir, room);
  assert.equal(summariserRequests(server).length, asked);
  assert.ok(!weir.events.some(({ type }) => type === "compaction_refused"));
  const live = await open.sql("select kind, needs_redo, text from summaries where live");
  assert.deepEqual(
    live.map(({ kind, needsRedo: isDue }) => [kind, isDue]),
    [["digest", false]],
  );
  assert.match(String(live[0]?.["text"]), /Ann: ok/);
  await checkFold(weir, room);
});

test("/reset while a summary is being written: it is void, what is answered is thrown away, memories stay", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const held = hold();
  const saves = toolCalls([
    {
      name: "memory_save",
      arguments: {
        memories: [
          {
            type: "fact",
            subject: "Ann",
            statement: "Ann has a green book.",
            quote: "green book",
            sources: [1],
          },
        ],
      },
    },
  ]);
  script(server, (_, index) => [saves, text(SUMMARY)][index] ?? held.behaviour);
  const room = "reset";
  const filled = await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  await compaction(weir, room, "committed");
  for (let number = filled + 1; summariserRequests(server).length < 3; number++) {
    await ask(weir, server, room, reading(number));
  }
  await summariserAsked(server, 3);
  const channel = { platform: "test", name: room };
  await weir.daemon.inbox.command({
    channel,
    name: "reset",
    argument: "",
    asker: { id: "u-ann", name: "Ann", roles: [] },
  });
  held.release(text("zxqlate: too late to be of use."));
  await compaction(weir, room, "stale");
  const jobs = await open.sql("select state, reason from jobs order by id");
  assert.deepEqual(jobs, [
    { state: "committed", reason: null },
    { state: "void", reason: "reset" },
  ]);
  const live = await open.sql("select kind, from_seq from summaries where live");
  assert.deepEqual(live, [{ kind: "reset", fromSeq: 1 }]);
  const lines = said(await ask(weir, server, room, "who has the green book?"));
  assert.ok(!lines.some((line) => line.startsWith("[Compaction Summary]")));
  assert.ok(lines.join("\n").includes("Ann has a green book."), "it is remembered all the same");
  assert.deepEqual(await rowsWith(open, "zxqlate"), []);
  await checkFold(weir, room);
});
