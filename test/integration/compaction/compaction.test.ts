// proves: src/compactor/compactor.ts, src/compactor/job-runner.ts, src/channel/compaction/compaction-target.ts, src/agents.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { Breaker } from "../../../src/compactor/breaker.ts";
import {
  agentRequests,
  ask,
  checkFold,
  compaction,
  compactionParts,
  compactions,
  hold,
  listen,
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
import { stalledStream, text } from "../../support/model-behaviours.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const LABELLED = `[Compaction Summary]: ${SUMMARY}`;

test("nobody waits for a summariser: fifty messages are answered while it is asked; then its summary takes over", async () => {
  await using scene = await openScene();
  const { server } = scene;
  const held = hold();
  // What fifty more messages make due is summarised after the test.
  const next = hold();
  script(server, (_, index) => (index === 0 ? held : next).behaviour);
  const room = "held";
  const filled = await fillTo(scene, room, BACKGROUND, { window: 28_000 });
  await using weir = await scene.start({ window: 28_000 });
  await ask(weir, server, room, "are you there?");
  const request = await summariserAsked(server, 1);
  const { fromSeq, toSeq } = await compaction(weir, room, "started");
  assert.equal(fromSeq, 1);
  assert.ok(toSeq >= filled * 0.3, `30 % at least: ${toSeq}`);
  assert.deepEqual(
    marks(said(request)),
    Array.from({ length: toSeq }, (_, index) => index + 1),
    "the summariser reads all of the range, and no more",
  );
  for (let number = 1; number <= 50; number++) await ask(weir, server, room, `question ${number}?`);
  assert.equal(request.outcome, "open");
  assert.equal(weir.platform.texts(room).length, 51);
  const before = said(agentRequests(server).at(-1));
  assert.ok(!before.some((line) => line.startsWith("[Compaction Summary]")), "nothing is covered yet");
  assert.deepEqual(marks(before).length, filled, "and nothing has left the view");

  held.release(text(SUMMARY));
  await compaction(weir, room, "committed");
  const lines = said(await ask(weir, server, room, "and now?"));
  assert.equal(lines.indexOf(LABELLED), 1, "behind the system prompt, before what is raw");
  const raw = lines.slice(2);
  assert.deepEqual(
    marks(raw.filter((line) => line.includes("Ann: gauge-"))),
    Array.from({ length: filled - toSeq }, (_, index) => toSeq + 1 + index),
  );
  for (let number = 1; number <= 50; number++) {
    assert.ok(
      raw.some((line) => line.includes(`Ann: question ${number}?`)),
      `question ${number}`,
    );
  }
  await checkFold(weir, room);
});

test("a summariser that never answers: emergency, replies, a digest; when it works again the digest is redone", async () => {
  await using scene = await openScene();
  const { server } = scene;
  let isBack = false;
  script(server, () => (isBack ? text(SUMMARY) : stalledStream()));
  const room = "silent";
  await fillTo(scene, room, 1.05);
  // A circuit's pause of half a minute is over in 30 ms here.
  const parts = compactionParts("short", new Breaker(() => performance.now() * 1000));
  await using weir = await scene.start({ compaction: "deadline_ms = 1000" }, parts);
  const lines = said(await ask(weir, server, room, "are you there?"));
  await weir.event("emergency");
  for (let number = 1; number <= 10; number++) await ask(weir, server, room, `question ${number}?`);
  assert.equal(weir.platform.texts(room).length, 11, "every message has its reply");
  const marker = lines.find((line) => line.includes("messages were truncated due to context limits"));
  assert.match(marker ?? "", /\[System: \d+ older messages were truncated due to context limits\]/);
  // The deadline ends each attempt: then an extract covers it.
  const digest = await compaction(weir, room, "committed");
  assert.equal(digest.model, "digest");
  assert.ok(digest.tier === "emergency" || digest.tier === "aggressive", digest.tier);
  for (const { done } of summariserRequests(server).slice(0, 2)) assert.equal(await done, "aborted");
  const shown = said(await ask(weir, server, room, "what is left?"))[1] ?? "";
  assert.match(shown, /^\[Compaction Summary\]: An extract, word for word, of \d+ messages by Ann/);

  isBack = true;
  await ask(weir, server, room, "is it back?");
  await weir.event("compaction", ({ kind, phase }) => kind === "redo" && phase === "committed");
  const again = said(await ask(weir, server, room, "and now?"));
  assert.equal(again[1], LABELLED);
  assert.ok(!again.some((line) => line.includes("truncated due to context limits")));
  await checkFold(weir, room);
});

test("many short messages are due by their number, also where the bot only listens", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => text(SUMMARY));
  const room = "listened";
  await using weir = await scene.start({
    window: 32_000,
    compaction: "max_raw_messages = 20\nkeep_messages = 5",
  });
  await listen(weir, room, 1, 19);
  await quiet(weir, room);
  assert.equal(summariserRequests(server).length, 0, "one fewer is not enough");
  await listen(weir, room, 20, 20);
  const { tier, fromSeq, toSeq } = await compaction(weir, room, "committed");
  assert.equal(tier, "background");
  assert.equal(fromSeq, 1);
  assert.ok(toSeq >= 6 && toSeq <= 15, `30 % at least, and the newest five are kept: ${toSeq}`);
  assert.deepEqual(agentRequests(server), [], "nobody was answered");
  assert.deepEqual(weir.platform.calls, []);
  await checkFold(weir, room);
});

test("aggressive covers half, in one go", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => text(SUMMARY));
  const room = "half";
  const filled = await fillTo(scene, room, AGGRESSIVE);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  const { tier, toSeq } = await compaction(weir, room, "committed");
  assert.equal(tier, "aggressive");
  assert.ok(
    toSeq >= filled / 2 && toSeq <= filled + 2 - 20,
    `half of it, and the newest 20 are kept: ${toSeq}`,
  );
  await quiet(weir, room);
  assert.equal(compactions(weir, room, "started").length, 1, "once is enough");
});

test("emergency heals: what was left out while a summary was written comes back with the next one", async () => {
  await using scene = await openScene();
  const { server } = scene;
  const helds = [hold(), hold()];
  script(server, (_, index) => helds[index]?.behaviour ?? text("Later the river fell."));
  const room = "heals";
  const filled = await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  const { toSeq } = await compaction(weir, room, "started");
  for (let number = filled + 1; !weir.events.some(({ type }) => type === "emergency"); number++) {
    await ask(weir, server, room, reading(number));
  }
  const { omitted, omittedTo } = await weir.event("emergency");
  assert.equal(omitted, omittedTo, "all of them are messages");
  assert.ok(omittedTo > toSeq, `omitted to ${omittedTo}, to be covered to ${toSeq}`);
  const marker = (lines: readonly string[]): string | undefined =>
    /\[System: (\d+) older messages were truncated/.exec(lines.join("\n"))?.[1];
  assert.equal(marker(said(await ask(weir, server, room, "what is left?"))), String(omitted));

  helds[0]?.release(text(SUMMARY));
  await compaction(weir, room, "committed");
  const between = said(await ask(weir, server, room, "and now?"));
  assert.equal(between[1], LABELLED);
  assert.equal(marker(between), String(omittedTo - toSeq), "the rest of it is still left out");
  const next = await compaction(weir, room, "started", 2);
  assert.deepEqual(
    { tier: next.tier, fromSeq: next.fromSeq },
    { tier: "emergency", fromSeq: toSeq + 1 },
    "due whatever the usage",
  );
  assert.ok(next.toSeq >= omittedTo);
  helds[1]?.release(text("Then the river rose."));
  await compaction(weir, room, "committed", 2);
  const healed = said(await ask(weir, server, room, "and after it?"));
  assert.deepEqual(healed.slice(1, 3), [LABELLED, "[Compaction Summary]: Then the river rose."]);
  assert.equal(marker(healed), undefined);
  await checkFold(weir, room);
});

test("one slot for all channels, and a summariser that keeps it: the others go on, and have it next", async () => {
  await using scene = await openScene();
  const { server } = scene;
  const held = hold();
  script(server, (_, index) => (index === 0 ? held.behaviour : text(SUMMARY)));
  await fillTo(scene, "first", BACKGROUND);
  const filled = await fillTo(scene, "second", BACKGROUND);
  await using weir = await scene.start({ top: "[daemon]\nmax_compactions = 1" });
  await ask(weir, server, "first", "are you there?");
  await summariserAsked(server, 1);
  const channel = "test:second";
  const isFull = (): boolean =>
    weir.events.some((event) => event.type === "emergency" && event.channel === channel);
  for (let number = filled + 1; !isFull(); number++) await ask(weir, server, "second", reading(number));
  assert.equal(summariserRequests(server).length, 1);
  assert.deepEqual(compactions(weir, "second", "started"), []);
  held.release(text(SUMMARY));
  const { tier } = await compaction(weir, "second", "committed");
  assert.equal(tier, "emergency", "what is due when its turn comes, and not when it began to wait");
  await checkFold(weir, "first");
  await checkFold(weir, "second");
});
