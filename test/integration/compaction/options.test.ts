// proves: src/config/schema/agents.ts, src/channel/compaction/compaction-target.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import type { TestPlatform } from "../../support/test-platform.ts";
import {
  agentRequests,
  ask,
  checkFold,
  compaction,
  compactions,
  fillLog,
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
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { status, text, toolCalls } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";

async function force(weir: TestWeir, { open }: Scene, room: string): Promise<unknown> {
  const [row] = await open.sql<{ id: number }>("select id from channels where name = $1", room);
  const known = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined && known !== undefined);
  const { compactor } = await weir.daemon.registry.get(known.id);
  const outcome = await compactor.force();
  return outcome.kind === "committed"
    ? { kind: outcome.kind, to: outcome.job.toSeq, text: outcome.summary.text }
    : outcome;
}

test("forced: all but the newest that are kept is covered; then there is nothing to do, and it says so", async () => {
  await using scene = await openScene();
  script(scene.server, () => text(SUMMARY));
  const room = "forced";
  await fillLog(scene.open, room, 30);
  await using weir = await scene.start({ compaction: "keep_messages = 6" });
  assert.deepEqual(await force(weir, scene, room), { kind: "committed", to: 24, text: SUMMARY });
  const { tier } = await compaction(weir, room, "committed");
  assert.equal(tier, "forced");
  assert.deepEqual(await force(weir, scene, room), {
    kind: "nothing",
    reason: "there is nothing before the newest messages, which are kept",
  });
  assert.equal(summariserRequests(scene.server).length, 1);
  await checkFold(weir, room);
});

/** So few messages that all of them may be kept. */
const FEW = { compaction: "keep_messages = 10" };

test("forced while a job runs: it is done right after it", async () => {
  await using scene = await openScene();
  const held = hold();
  script(scene.server, (_, index) => (index === 0 ? held.behaviour : text(SUMMARY)));
  const room = "queued";
  const filled = await fillTo(scene, room, BACKGROUND, FEW);
  await using weir = await scene.start(FEW);
  await ask(weir, scene.server, room, "are you there?");
  await compaction(weir, room, "started");
  const forced = force(weir, scene, room);
  held.release(text("The first one."));
  assert.deepEqual(await forced, { kind: "committed", to: filled + 2 - 10, text: SUMMARY });
  assert.deepEqual(
    compactions(weir, room, "committed").map(({ tier }) => tier),
    ["background", "forced"],
  );
  await checkFold(weir, room);
});

test("forced while a job runs that fails: it is tried all the same, without a model where it must", async () => {
  await using scene = await openScene();
  const held = hold();
  script(scene.server, (_, index) => (index === 0 ? held.behaviour : status(503)));
  const room = "insistent";
  const filled = await fillTo(scene, room, BACKGROUND, FEW);
  await using weir = await scene.start(FEW);
  await ask(weir, scene.server, room, "are you there?");
  await compaction(weir, room, "started");
  const forced = force(weir, scene, room);
  held.release(status(503));
  const { reason } = await compaction(weir, room, "failed");
  assert.equal(reason, "unavailable");
  const outcome = await forced;
  assert.ok(typeof outcome === "object" && outcome !== null && "text" in outcome, JSON.stringify(outcome));
  const covered = filled + 2 - 10;
  assert.match(String(outcome.text), new RegExp(`^An extract, word for word, of ${covered} messages`));
  await checkFold(weir, room);
});

test("enabled = false: no job ever, emergency all the same, and one can be forced", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, () => text(SUMMARY));
  const room = "disabled";
  const lines = { compaction: "enabled = false\nmax_raw_messages = 10" };
  const filled = await fillTo(scene, room, BACKGROUND, lines);
  await using weir = await scene.start(lines);
  let asked = 0;
  // It may come behind an answer: the next request shows it.
  const isShown = (): boolean =>
    said(agentRequests(server).at(-1)).some((line) =>
      line.includes("messages were truncated due to context limits"),
    );
  while (asked === 0 || !isShown()) {
    asked++;
    await ask(weir, server, room, reading(filled + asked));
  }
  await quiet(weir, room);
  assert.deepEqual(await open.sql("select from jobs"), []);
  assert.equal(summariserRequests(server).length, 0);
  assert.ok(weir.events.some(({ type }) => type === "emergency"));
  const outcome = await force(weir, scene, room);
  assert.deepEqual(outcome, { kind: "committed", to: filled + asked * 2 - 20, text: SUMMARY });
  const after = said(await ask(weir, server, room, "and now?"));
  assert.equal(after[1], `[Compaction Summary]: ${SUMMARY}`);
  assert.ok(!after.some((line) => line.includes("truncated due to context limits")), "it has come back");
  await checkFold(weir, room);
});

function notices({ calls }: TestPlatform): string[] {
  return calls.flatMap(({ message }) => (message.kind === "notice" ? [message.text] : []));
}

for (const notify of ["channel", "off"] as const) {
  test(`notify = "${notify}": the channel is told ${notify === "off" ? "nothing" : "once, by a notice of its own"}`, async () => {
    await using scene = await openScene();
    script(scene.server, () => text(SUMMARY));
    const room = "told";
    await fillTo(scene, room, BACKGROUND);
    await using weir = await scene.start({ compaction: `notify = "${notify}"` });
    await ask(weir, scene.server, room, "are you there?");
    const { toSeq } = await compaction(weir, room, "committed");
    await ask(weir, scene.server, room, "and now?");
    const told = notices(weir.platform);
    if (notify === "off") assert.deepEqual(told, []);
    else {
      assert.equal(told.length, 1);
      assert.match(told[0] ?? "", new RegExp(`^I have summarised ${toSeq} older messages`));
    }
    assert.ok(!said(agentRequests(scene.server).at(-1)).join("\n").includes("I have summarised"));
    const notes = await scene.open.sql("select from entries where kind = 'notice'");
    assert.deepEqual(notes, [], "the agent has not said it");
  });
}

test("calls and results are never parted: each prompt has them together, and each cut is between turns", async () => {
  await using scene = await openScene();
  const { server } = scene;
  const room = "tools";
  const call = (id: string): { name: string; arguments: unknown; id: string } => ({
    name: "search_history",
    arguments: { query: "river" },
    id,
  });
  let turn = 0;
  script(
    server,
    () => text(SUMMARY),
    ({ messages }) => {
      const isAnswered = messages.at(-1)?.role === "tool";
      if (!isAnswered) turn++;
      return isAnswered
        ? text(`noted ${reading(turn)}`, { usage: "none" })
        : toolCalls([call(`a${turn}`), call(`b${turn}`)], { usage: "none" });
    },
  );
  await using weir = await scene.start({ compaction: "max_raw_messages = 23\nkeep_messages = 2" });
  await listen(weir, room, 1, 5);
  for (let number = 6; number <= 40; number++) await ask(weir, server, room, reading(number));
  await quiet(weir, room);
  const cuts = compactions(weir, room, "committed").filter(({ kind }) => kind === "leaf");
  assert.ok(cuts.length >= 4, `${cuts.length} leaves`);
  for (const { toSeq } of cuts) {
    const [next] = await scene.open.sql<{ kind: string }>(
      "select kind from entries where seq = $1",
      toSeq + 1,
    );
    assert.notEqual(next?.kind, "tool_result", `behind ${toSeq}`);
  }
  for (const { body } of agentRequests(server)) {
    const open = new Set<string>();
    for (const { role, tool_calls: calls = [], tool_call_id: id } of body.messages) {
      if (role === "tool") assert.ok(open.delete(id ?? ""), "a result has its call right before it");
      else assert.equal(open.size, 0, "a call has its results right behind it");
      for (const { id: called } of calls) open.add(called);
    }
    assert.equal(open.size, 0);
  }
  const asked = said(agentRequests(server).at(-1));
  assert.ok(marks(asked).includes(40));
  await checkFold(weir, room);
});

test("an agent whose fixed part leaves no room under the target is refused, with the numbers", async () => {
  await using scene = await openScene();
  const instructions = `instructions = "${"Answer each question as the committee would. ".repeat(300)}"`;
  const isRefused = async (lines: Parameters<Scene["start"]>[0], why: RegExp): Promise<void> => {
    await assert.rejects(
      async () => scene.start(lines),
      (error) => {
        assert.ok(error instanceof OperatorError);
        assert.match(error.message, why);
        return true;
      },
    );
  };
  await isRefused(
    { agent: instructions },
    /Agent "main": its prompt and tools take about \d{4} tokens \(prompt 3\d{3}, tools 1\d{3}\), and test-model has room for 3225, .* of 7168 usable tokens\./,
  );
  await isRefused(
    { agent: instructions, compaction: "enabled = false" },
    /take about \d{4} tokens .*, and test-model has room for 4096, half of the window\./,
  );
  // What it needs is what it says.
  await using weir = await scene.start({ agent: instructions, window: 16_000 });
  assert.equal(weir.daemon.registry.size, 0);
});

test("an agent starts in 8k, 16k and 32k, also where its fixed part leaves little more than 15 % under the target", async () => {
  await using scene = await openScene();
  const words = { 8192: 500, 16_384: 2500, 32_768: 6500 };
  for (const [window, count] of Object.entries(words)) {
    const agent = `instructions = "${"word ".repeat(count)}"`;
    await using weir = await scene.start({ agent, window: Number(window) });
    assert.equal(weir.daemon.registry.size, 0);
  }
});

/** Of the usable window: less than background, and more than what is left below it where 15 % is kept free. */
const BETWEEN = 0.72;

test("a channel that has asked nothing yet keeps room for what its first question recalls", async () => {
  await using scene = await openScene();
  script(scene.server, () => text(SUMMARY));
  for (const [recall, begun] of [
    ["off", 0],
    ["all", 1],
  ] as const) {
    const room = `recall-${recall}`;
    const lines = { agent: `memory.recall = "${recall}"`, compaction: "keep_messages = 6" };
    await fillLog(scene.open, room, 40);
    {
      await using weir = await scene.start(lines);
      await force(weir, scene, room);
      await compaction(weir, room, "committed");
    }
    await fillTo(scene, room, BETWEEN, lines);
    await using weir = await scene.start(lines);
    await ask(weir, scene.server, room, "are you there?");
    await quiet(weir, room);
    assert.equal(compactions(weir, room, "started").length, begun, recall);
  }
});
