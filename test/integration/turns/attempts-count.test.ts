// proves: src/channel/model-usage.ts, src/channel/call-bounds.ts, src/budget/budgets.ts, src/channel/turns/turn-calls.ts
// Whatever became of a call: what it has used counts for budgets and in the bill, once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ANN, command } from "../../support/commands.ts";
import { hold, openScene, type Scene } from "../../support/compaction.ts";
import { cutStream, rateLimited, stalledStream, status, text } from "../../support/model-behaviours.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const SPENT = /^I have used up what I may spend today/;

function budget(lines: string): { readonly compaction: string } {
  return { compaction: `[agents.budget]\n${lines}\n` };
}

interface Row {
  readonly outcome: string;
  readonly model: string;
  readonly prompt: number;
  readonly completion: number;
}

/** What the bill has of all calls that were made, oldest first. Nobody waits for a row: it may come after the answer. */
async function bill(scene: Scene): Promise<Row[]> {
  let rows: Row[] = [];
  await until("a row of each call", async () => {
    rows = await rowsOf(scene);
    return rows.length >= scene.server.requests.length;
  });
  return rows;
}

async function rowsOf(scene: Scene): Promise<Row[]> {
  return scene.open.sql<Row & Record<string, unknown>>(
    `select outcome, model, coalesce(prompt_tokens, 0) + coalesce(assumed_prompt_tokens, 0) as prompt,
            coalesce(completion_tokens, 0) + coalesce(assumed_completion_tokens, 0) as completion from model_calls order by id`,
  );
}

function settled(weir: TestWeir): number {
  return weir.events.filter(({ type }) => type === "turn_settled").length;
}

test("answers that people stop spend a budget, and `/usage` says about how much", async () => {
  await using scene = await openScene();
  scene.server.respond(() => stalledStream("an answer that is stopped in the middle of a line"));
  await using weir = await startWeir({
    connection: scene.connection,
    modelUrl: scene.server.url,
    config: '[[agents]]\nid = "main"\nmodel = "test-model"\n[agents.budget]\ntokens = 2000',
    platform: new TestPlatform({ streaming: { intervalMs: 0 } }),
  });
  const isShown = (room: string): boolean =>
    [...weir.platform.shown.values()].some(({ channel }) => channel.name === room);
  const asks = 12;
  for (let asked = 1; asked <= asks; asked++) {
    const room = `room-${asked}`;
    await weir.say("what is it?", { room });
    await weir.platform.until(() => isShown(room));
    if (settled(weir) < asked) await command(weir, room, "stop", ANN);
    await weir.event("turn_settled", () => settled(weir) >= asked);
  }
  const calls = scene.server.requests.length;
  assert.ok(calls >= 1 && calls < asks, `${calls} calls`);
  const rows = await bill(scene);
  assert.equal(rows.length, calls);
  for (const { outcome, prompt, completion } of rows) {
    assert.equal(outcome, "aborted");
    assert.ok(prompt > 100 && completion > 5, `${prompt} and ${completion}`);
  }
  const used = await command(weir, "room-1", "usage", ANN);
  assert.match(used, /You: \d+ model calls?, about [1-9][\d,]* tokens in, [1-9]\d* out; cost unknown/);
  assert.match(weir.platform.texts(`room-${asks}`)[0] ?? "", SPENT);
});

test("each attempt has a row: broken, late, refused, of a fallback; a refusal costs nothing", async () => {
  await using scene = await openScene();
  scene.server.reply(
    rateLimited({ ms: 1 }),
    cutStream("half an answer"),
    status(401),
    stalledStream("silence"),
  );
  scene.server.respond(() => text("an answer", { usage: { prompt: 500, completion: 7, cached: 0 } }));
  await using weir = await startWeir({
    connection: scene.connection,
    modelUrl: scene.server.url,
    config: `[llm]\nmax_retries = 1\nidle_timeout_ms = 1500\n[[agents]]\nid = "main"\nmodel = "test-model"\nfallbacks = ["spare", "third"]`,
    platform: new TestPlatform(),
  });
  await weir.say("what is it?", { room: "room" });
  await weir.event("reply_delivered");
  const rows = await bill(scene);
  const limited = rows.find(({ outcome }) => outcome === "rate_limited");
  assert.equal(rows.length, scene.server.requests.length);
  // Of two calls the later one may be written first.
  assert.deepEqual(
    new Set(
      rows.map(({ outcome, model, prompt, completion }) => [outcome, model, prompt > 0, completion > 0]),
    ),
    new Set([
      ["rate_limited", "test-model", false, false],
      ["unavailable", "test-model", true, true],
      ["unauthorized", "spare", false, false],
      ["timeout", "third", true, true],
      ["answered", "third", true, true],
    ]),
  );
  assert.equal(limited?.prompt, 0);
  const { id } = await scene.open.channel("room");
  assert.partialDeepStrictEqual((await scene.open.store.load(id)).lastUsage, {
    model: "third",
    reported: 500,
  });
});

test("calls that are under way count: of many that begin at once under a budget that is nearly spent, one is made", async () => {
  await using scene = await openScene();
  const held = hold();
  scene.server.respond(() => held.behaviour);
  await using weir = await scene.start(budget("tokens = 100"));
  const rooms = ["one", "two", "three", "four", "five"];
  await Promise.all(rooms.map(async (room) => weir.say("what is it?", { room })));
  await weir.event("turn_settled", () => settled(weir) === rooms.length - 1);
  assert.equal(scene.server.requests.length, 1);
  held.release(text("an answer", { usage: { prompt: 10, completion: 1, cached: 0 } }));
  await weir.event("turn_settled", () => settled(weir) === rooms.length);
  await weir.say("and now?", { room: "six" });
  await weir.event("turn_settled", () => settled(weir) === rooms.length + 1);
  assert.equal(scene.server.requests.length, 2, "the call has ended, and has used less");
});
