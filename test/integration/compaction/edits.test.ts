// proves: src/compactor/summary/transcript.ts, src/store/deletion/carriers/summaries.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsWith } from "../../store/rows-with.ts";
import {
  ask,
  checkFold,
  compaction,
  compactions,
  listen,
  openScene,
  quiet,
  reading,
  said,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { text } from "../../support/model-behaviours.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";

test("an edit of what a summary covers already: the summary is written again, from the new text", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, (_, index) => text(index === 0 ? SUMMARY : "The river fell to zxqnew."));
  const room = "covered";
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  const { toSeq } = await compaction(weir, room, "committed");
  assert.ok(toSeq >= 5);
  const id = `${room}-5`;
  const channel = { platform: "test", name: room };
  const words = "gauge-5: no, the river fell to zxqnew.";
  await weir.daemon.inbox.receive({
    type: "edit",
    platform: "test",
    channel,
    id,
    text: words,
    at: new Date(),
  });
  assert.equal((await compaction(weir, room, "committed", 2)).kind, "redo");
  assert.ok(said(summariserRequests(server)[1]).join("\n").includes(`5. [`));
  assert.ok(said(summariserRequests(server)[1]).join("\n").includes(`Ann: ${words}`));
  const lines = said(await ask(weir, server, room, "and now?"));
  assert.equal(lines[1], "[Compaction Summary]: The river fell to zxqnew.");
  await checkFold(weir, room);
});

test("what is summarised between an edit and the redo of its summary reads nothing of the old text", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (_, index) => text(index === 0 ? `${SUMMARY} It fell to zxqold.` : SUMMARY));
  const room = "between";
  await fillTo(scene, room, BACKGROUND);
  {
    await using weir = await scene.start();
    await ask(weir, server, room, "are you there?");
    await compaction(weir, room, "committed");
  }
  const { id } = await open.channel(room);
  await open.store.log.edit(id, `${room}-5`, "Never mind.", new Date(), TEST_DIGESTER);
  // So much that a leaf is due, which comes before a redo.
  for (let number = 101; number <= 140; number++)
    await open.say(id, reading(number), { addressed: false, id: `${room}-${number}` });
  await using weir = await scene.start();
  await ask(weir, server, room, "and now?");
  assert.equal((await compaction(weir, room, "committed")).kind, "leaf");
  const leaf = said(summariserRequests(server)[1]).join("\n");
  assert.ok(leaf.includes("digest of") && !leaf.includes("zxqold"), leaf);
  await compaction(weir, room, "committed", 2);
  await quiet(weir, room);
  assert.deepEqual(await rowsWith(open, "zxqold"), []);
  await checkFold(weir, room);
});

test("an edit in a merged range that is too long to be read again reaches the summary all the same", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => text(SUMMARY));
  const room = "long-merged";
  await using weir = await scene.start({ window: 32_000, compaction: "keep_messages = 3" });
  const padding = "The sluice keeper walks along the bank and looks at the water for a long while. ".repeat(
    25,
  );
  const isMerged = (): boolean => compactions(weir, room, "committed").some(({ kind }) => kind === "merge");
  for (let number = 1; !isMerged(); number++) {
    await weir.say(`gauge-${number}: ${padding}`, { room, addressed: false, id: `long-${number}` });
    await quiet(weir, room);
  }
  await ask(weir, server, room, "are you there?");
  await quiet(weir, room);
  const asked = summariserRequests(server).length;
  const change = { type: "edit", platform: "test", channel: { platform: "test", name: room } } as const;
  await weir.daemon.inbox.receive({ ...change, id: "long-1", text: "It was zxqnew.", at: new Date() });
  await weir.event("compaction", ({ kind, phase }) => kind === "redo" && phase === "committed");
  const redo = said(summariserRequests(server)[asked]).join("\n");
  assert.ok(redo.includes("[Compaction Summary]") && redo.includes(SUMMARY), "from the summaries");
  assert.ok(!redo.includes("gauge-1"), "and not from the raw text");
  assert.match(redo, /> Ann: It was zxqnew\./);
  await checkFold(weir, room);
});

test("a deletion reaches a merged summary, and those that it was made of", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const secret = "zxqsecret";
  script(server, ({ messages }) => {
    const isTold = messages.some(({ content }) => content?.includes(secret) === true);
    return text(isTold ? `The password is ${secret}.` : SUMMARY);
  });
  const room = "merged";
  await using weir = await scene.start({
    window: 32_000,
    compaction: "max_raw_messages = 10\nkeep_messages = 3",
  });
  await weir.say(`The password of the sluice is ${secret}, Ann said so.`, {
    room,
    addressed: false,
    id: "secret",
  });
  const isMerged = (): boolean => compactions(weir, room, "committed").some(({ kind }) => kind === "merge");
  for (let number = 2; !isMerged(); number++) {
    await listen(weir, room, number, number);
    await quiet(weir, room);
  }
  const [before] = await open.sql(
    "select count(*)::integer as told from summaries where text like $1",
    `%${secret}%`,
  );
  assert.ok(Number(before?.["told"]) >= 2, "the merged one and the first leaf at least");
  const asked = server.requests.length;
  const channel = { platform: "test", name: room };
  await weir.daemon.inbox.receive({
    type: "deletion",
    platform: "test",
    channel,
    id: "secret",
    at: new Date(),
  });
  assert.deepEqual(await rowsWith(open, secret), []);
  await weir.event("compaction", ({ kind, phase }) => kind === "redo" && phase === "committed");
  await quiet(weir, room);
  const live = await open.sql(
    "select level, kind, text, needs_redo from summaries where live order by from_seq",
  );
  assert.deepEqual(live[0], { level: 2, kind: "model", text: SUMMARY, needsRedo: false });
  for (const { body } of server.requests.slice(asked)) assert.ok(!JSON.stringify(body).includes(secret));
  await checkFold(weir, room);
});

test("a deletion while a finished summary waits for its commit: it is never committed", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const secret = "zxqsecret";
  script(server, (_, index) => text(index === 0 ? `The password is ${secret}.` : SUMMARY));
  const room = "staged";
  await fillTo(scene, room, BACKGROUND);
  await open.db.script(`
    alter function commit_job(bigint, integer) rename to commit_job_kept;
    create function commit_job(p_job bigint, p_attempt integer, out outcome text) language plpgsql as $$
    begin
      raise exception 'terminating connection due to administrator command' using errcode = '57P01';
    end $$;`);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  await weir.event("compaction_interrupted");
  assert.deepEqual(await rowsWith(open, secret), ["jobs"]);
  const channel = { platform: "test", name: room };
  await weir.daemon.inbox.receive({
    type: "deletion",
    platform: "test",
    channel,
    id: `${room}-5`,
    at: new Date(),
  });
  assert.deepEqual(await rowsWith(open, secret), []);
  await open.db.script(`
    drop function commit_job(bigint, integer);
    alter function commit_job_kept(bigint, integer) rename to commit_job;`);
  await compaction(weir, room, "committed");
  const rows = await open.sql("select text from summaries");
  assert.deepEqual(rows, [{ text: SUMMARY }]);
  await checkFold(weir, room);
});
