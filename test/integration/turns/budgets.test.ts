// proves: src/budget/budgets.ts, src/channel/turns/turn-budget.ts, src/channel/actor-rooms.ts, src/store/turns/usage.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { Budgets } from "../../../src/budget/budgets.ts";
import { ANN, authorOf, BEN } from "../../support/commands.ts";
import {
  agentRequests,
  compaction,
  openScene,
  quiet,
  type Scene,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { fillTo } from "../../support/full-channel.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { SILENT } from "../../store/open-store.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

/** An answer of which the provider says that it has cost so many tokens. */
function paid(tokens: number): ReturnType<typeof text> {
  return text("an answer", { usage: { prompt: tokens - 10, completion: 10, cached: 0 } });
}

function budget(lines: string): { readonly compaction: string } {
  return { compaction: `[agents.budget]\n${lines}\n` };
}

/** Says something, and waits for the end of its turn. @returns what was answered there last */
async function say(weir: TestWeir, room: string, asker = ANN): Promise<string> {
  const count = (): number => weir.events.filter(({ type }) => type === "reply_delivered").length;
  const before = count();
  await weir.say("what is it?", { room, author: authorOf(asker) });
  await weir.event("reply_delivered", () => count() > before);
  const answers = [...weir.platform.shown.values()].filter(
    ({ channel, inReplyTo }) => channel.name === room && inReplyTo.length > 0,
  );
  return answers.at(-1)?.text ?? "";
}

/** Texts of messages of Weir's own. */
function notices({ platform }: TestWeir): string[] {
  return [...platform.shown.values()].flatMap(({ inReplyTo, text: told }) =>
    inReplyTo.length === 0 ? [told] : [],
  );
}

test("what a person may spend is theirs alone: whoever has spent it is told so, others are answered", async () => {
  await using scene = await openScene();
  scene.server.respond(() => paid(600));
  await using weir = await scene.start(budget("person_tokens = 1000"));
  assert.equal(await say(weir, "one"), "an answer");
  assert.equal(await say(weir, "two"), "an answer", "600 of 1,000 are spent");
  const asked = scene.server.requests.length;
  assert.match(
    await say(weir, "two"),
    /^What I may spend on your questions today is used up\. I have read this one/,
  );
  assert.equal(scene.server.requests.length, asked, "no model was asked");
  assert.equal(await say(weir, "two", BEN), "an answer");
  const [row] = await scene.open.sql<{ state: string; reason: string }>(
    "select state, reason from turns where state = 'failed'",
  );
  assert.deepEqual(row, { state: "failed", reason: "the budget of the person is spent for today" });
});

test("a channel's budget ends with its day, an answer that has begun is finished, and the warning comes once", async () => {
  await using scene = await openScene();
  let now = new Date();
  const calls = toolCalls([{ name: "search_history", arguments: { query: "mill" } }], {
    usage: { prompt: 900, completion: 100, cached: 0 },
  });
  let asked = 0;
  scene.server.respond(() => (asked++ === 0 ? calls : paid(500)));
  const { compaction: lines } = budget("channel_tokens = 1000\nwarn_at = 0.5");
  const platform = new TestPlatform();
  await using weir = await startWeir({
    connection: scene.connection,
    modelUrl: scene.server.url,
    config: `[[agents]]\nid = "main"\nmodel = "test-model"\n${lines}`,
    platform,
    now: () => now,
  });
  assert.equal(await say(weir, "room"), "an answer", "the first call has spent all of it");
  assert.equal(asked, 2);
  assert.match(await say(weir, "room"), /^What I may spend here today is used up/);
  assert.equal(await say(weir, "other"), "an answer");
  await until("the warning", () => notices(weir).length === 2);
  assert.deepEqual(
    notices(weir).map((told) => told.replace(/[\d,]+ of/, "… of")),
    Array(2).fill(
      "Most of what I may spend here today is spent: … of 1,000 tokens. Once all of it is, I answer again tomorrow.",
    ),
    "one of each channel",
  );
  const { budgets } = weir.daemon.status();
  assert.deepEqual(
    budgets.map(({ scope, of, isSpent }) => ({ scope, of, isSpent })),
    [
      { scope: "channel", of: "test:room", isSpent: true },
      { scope: "channel", of: "test:other", isSpent: false },
    ],
  );
  now = new Date(now.getTime() + 24 * 3_600_000);
  assert.equal(await say(weir, "room"), "an answer");
});

test("money is counted by the prices, and a daemon that starts knows what was spent today", async () => {
  await using scene = await openScene();
  scene.server.respond(() => text("an answer", { usage: { prompt: 1000, completion: 100, cached: 500 } }));
  const lines = {
    ...budget("dollars = 0.02"),
    top: '[models."test-model"]\nprice_in = 10\nprice_out = 50\nprice_cached = 2\n',
  };
  {
    // 500 × $10, 500 × $2 and 100 × $50 a million: $0.011.
    await using weir = await scene.start(lines);
    assert.equal(await say(weir, "one"), "an answer");
    assert.equal(await say(weir, "two"), "an answer");
    assert.match(await say(weir, "two"), /^I have used up what I may spend today/);
  }
  await using weir = await scene.start(lines);
  assert.match(await say(weir, "three"), /^I have used up what I may spend today/);
  assert.equal(agentRequests(scene.server).length, 2);
});

test("what another daemon has spent counts from the next look into the database on", async () => {
  await using scene = await openScene();
  const config = await scene.config(budget("tokens = 1000"));
  scene.server.respond(() => paid(1000));
  const budgets = new Budgets({
    agents: config.agents,
    usage: scene.open.store.usage,
    priceOf: () => undefined,
    now: () => new Date(),
    log: SILENT,
  });
  await budgets.refresh();
  await using weir = await scene.start();
  assert.equal(await say(weir, "room"), "an answer");
  const { id: channel } = await scene.open.channel("room");
  const [agent] = config.agents;
  assert.ok(agent !== undefined);
  const spender = { agent: agent.id, channel, person: null };
  assert.equal(budgets.spent(spender), null);
  await budgets.refresh();
  assert.partialDeepStrictEqual(budgets.spent(spender), { scope: "agent", of: "main", isSpent: true });
  const without = new Budgets({
    agents: (await scene.config()).agents,
    usage: { today: async () => assert.fail("nothing is asked where there is no budget") },
    priceOf: () => undefined,
    now: () => new Date(),
    log: SILENT,
  });
  await without.refresh();
});

test("embeddings count for a budget of money, and for none of tokens", async () => {
  await using scene = await openScene();
  const { id: channel } = await scene.open.channel("room");
  const call = { channel, turn: null, job: null, model: "vectors", outcome: "answered", estimatedTokens: 1 };
  const usage = { promptTokens: 1_000_000, cachedTokens: null, completionTokens: null };
  await scene.open.store.modelCalls.add([
    { ...call, ...usage, purpose: "embedding", firstTokenMs: null, totalMs: 1 },
  ]);
  const spentOf = async (limit: string) => {
    const { agents } = await scene.config(budget(limit));
    const [agent] = agents;
    assert.ok(agent !== undefined);
    const budgets = new Budgets({
      agents,
      usage: scene.open.store.usage,
      priceOf: () => ({ input: 0.02, cached: 0.02, write: 0.02, output: 0 }),
      now: () => new Date(),
      log: SILENT,
    });
    await budgets.refresh();
    return budgets.spent({ agent: agent.id, channel, person: null });
  };
  assert.equal(await spentOf("tokens = 1000"), null);
  assert.equal(await spentOf("dollars = 0.03"), null);
  assert.partialDeepStrictEqual(await spentOf("dollars = 0.02"), { scope: "agent", isSpent: true });
});

/** Fills a channel until its next request is over the emergency threshold. */
async function overfull(scene: Scene, room: string): Promise<void> {
  await fillTo(scene, room, 1.1);
}

test("without a budget nothing is lost: what no longer fits leaves the view without a model, and a digest stands in", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, () => text("A summary."));
  const room = "full";
  await overfull(scene, room);
  const { id } = await open.channel(room);
  const [before] = await open.sql<{ entries: number }>(
    "select count(*) as entries from entries where channel_id = $1",
    id,
  );
  await open.store.modelCalls.add([
    {
      channel: id,
      turn: null,
      job: null,
      purpose: "compaction",
      model: "summariser",
      outcome: "answered",
      estimatedTokens: 1000,
      promptTokens: 1000,
      cachedTokens: 0,
      writtenTokens: 0,
      completionTokens: 0,
      firstTokenMs: null,
      totalMs: 1,
    },
  ]);
  await using weir = await scene.start({
    compaction: "[agents.budget]\nchannel_tokens = 1000\n",
  });
  assert.match(await say(weir, room), /^What I may spend here today is used up/);
  await compaction(weir, room, "committed");
  await quiet(weir, room);
  assert.equal(summariserRequests(server).length, 0, "no model was asked");
  const summaries = await open.sql<{ kind: string; needsRedo: boolean }>(
    "select kind, needs_redo from summaries where channel_id = $1 and live",
    id,
  );
  assert.ok(summaries.length > 0);
  assert.ok(summaries.every(({ kind, needsRedo: again }) => kind === "digest" && again));
  const [after] = await open.sql<{ entries: number; lost: number }>(
    "select count(*) as entries, count(*) filter (where text = '') as lost from entries where channel_id = $1",
    id,
  );
  // The question, and the words that refuse it.
  assert.deepEqual(after, { entries: (before?.entries ?? 0) + 2, lost: 0 });
});

test("where nothing is left no subagent is begun, and its agent is told so", async () => {
  await using scene = await openScene();
  let asked = 0;
  const spawn = toolCalls([{ name: "spawn_agent", arguments: { task: "Compare the mills." } }], {
    usage: { prompt: 990, completion: 10, cached: 0 },
  });
  scene.server.respond(() => (asked++ === 0 ? spawn : paid(100)));
  await using weir = await scene.start({
    ...budget("tokens = 1000"),
    agent: "[agents.subagents]\nenabled = true",
  });
  assert.equal(await say(weir, "room"), "an answer");
  assert.equal(asked, 2);
  assert.match(JSON.stringify(scene.server.requests[1]?.body.messages), /spent: no subagent is begun/);
  assert.deepEqual(await scene.open.sql("select from subagents"), []);
});
