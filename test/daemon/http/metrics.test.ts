import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterState, StatusKeeper } from "../../../src/admin/reports/daemon-status.ts";
import { Breaker } from "../../../src/compactor/breaker.ts";
import type { ModelPrice } from "../../../src/core/cost.ts";
import { Metrics } from "../../../src/daemon/http/metrics.ts";
import { Readiness } from "../../../src/daemon/http/readiness.ts";
import { notConnectedYet } from "../../../src/platforms/platform.ts";
import { Events, type WeirEvent } from "../../../src/telemetry/events.ts";
import { SILENT } from "../../store/open-store.ts";

const PRICE: ModelPrice = { input: 2, cached: 0.5, write: 2, output: 10 };
const CHANNEL = "discord:1234567890";
const CALL = {
  type: "model_call",
  channel: CHANNEL,
  purpose: "turn",
  model: "priced",
  outcome: "answered",
  promptTokens: 1_000_000,
  cachedTokens: 400_000,
  writtenTokens: 0,
  completionTokens: 100_000,
  totalMs: 1500,
} as const;
const TURN: Extract<WeirEvent, { type: "turn_settled" }> = {
  type: "turn_settled",
  channel: CHANNEL,
  turn: 7,
  outcome: "answered",
  reason: null,
  inReplyTo: ["m-1"],
  turnMs: 1540,
  modelMs: 1500,
};
const COMPACTION = {
  type: "compaction",
  channel: CHANNEL,
  job: 1,
  phase: "committed",
  kind: "leaf",
  tier: "background",
  fromSeq: 1,
  toSeq: 9,
  tokensBefore: 900,
  tokensAfter: 90,
  memories: 1,
  model: "small",
  ms: 2000,
  reason: null,
} as const;

interface Scene {
  readonly events: Events;
  readonly breaker: Breaker;
  /** The samples of a page, by name and labels. */
  readonly samples: () => Promise<Map<string, number>>;
}

function openScene(
  due: () => Promise<{ platform: string; channels: number; longestMs: number }[]>,
  cluster?: ClusterState,
): Scene {
  const events = new Events(SILENT);
  const breaker = new Breaker(() => performance.now());
  const readiness = new Readiness();
  const metrics = new Metrics(readiness, "1.2.3");
  const { vitals, enter } = new StatusKeeper({
    platforms: [{ name: "discord" }, { name: "slack", connection: notConnectedYet }],
    models: { describe: () => "" },
    breaker,
    budgets: { low: () => [] },
    registry: { size: 3 },
    ...(cluster !== undefined && { cluster: { vitals: () => cluster } }),
    events,
  });
  enter("serving");
  readiness.watch({
    lost: new AbortController().signal,
    vitals,
    readSchema: async () => ({ current: 9, known: 9 }),
  });
  metrics.watch({
    events,
    vitals,
    models: { priceOf: (model) => (model === "priced" ? PRICE : undefined) },
    store: { overview: { due } },
  });
  return {
    events,
    breaker,
    samples: async () => {
      const lines = (await metrics.render()).split("\n").filter((line) => line.startsWith("weir_"));
      return new Map(
        lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
      );
    },
  };
}

test("events become numbers, by outcome, tier, platform and model, and by nothing that grows", async () => {
  const { events, breaker, samples } = openScene(async () => [
    { platform: "discord", channels: 2, longestMs: 61_500 },
  ]);
  const told: readonly WeirEvent[] = [
    TURN,
    { ...TURN, channel: "slack:C1", outcome: "failed", reason: "the model is away" },
    CALL,
    {
      ...CALL,
      model: "free",
      purpose: "subagent",
      promptTokens: null,
      cachedTokens: null,
      completionTokens: null,
    },
    COMPACTION,
    { ...COMPACTION, tier: "aggressive", model: null },
    { ...COMPACTION, phase: "started" },
    { ...COMPACTION, phase: "failed", reason: "nonsense" },
    { type: "emergency", channel: CHANNEL, omitted: 12, omittedTo: 99, tokensBefore: 9, tokensAfter: 5 },
    { type: "reply_delivered", channel: CHANNEL, turn: 7, parts: 2, turnMs: 1600 },
    { type: "delivery_failed", channel: CHANNEL, kind: "unavailable", why: "ECONNRESET", retryInMs: 100 },
    { type: "delivery_failed", channel: CHANNEL, kind: "gone", why: "unknown channel", retryInMs: null },
    { type: "message_accepted", channel: CHANNEL, seq: 1, messageId: "m-1", addressed: true },
  ];
  for (const event of told) events.emit(event);
  for (let failure = 0; failure < 3; failure++) breaker.failed("priced");
  const found = await samples();
  const expected: Record<string, number> = {
    'weir_turns_total{platform="discord",outcome="answered"}': 1,
    'weir_turns_total{platform="slack",outcome="failed"}': 1,
    weir_turn_own_seconds_count: 2,
    weir_turn_model_seconds_sum: 3,
    'weir_model_calls_total{purpose="turn",model="priced",outcome="answered"}': 1,
    'weir_model_tokens_total{purpose="turn",model="priced",kind="in"}': 1_000_000,
    'weir_model_tokens_total{purpose="turn",model="priced",kind="cached"}': 400_000,
    'weir_model_tokens_total{purpose="turn",model="priced",kind="written"}': 0,
    'weir_model_tokens_total{purpose="turn",model="priced",kind="out"}': 100_000,
    'weir_model_cost_dollars_total{purpose="turn",model="priced"}': 2.4,
    'weir_compactions_total{tier="background",outcome="committed"}': 1,
    'weir_compactions_total{tier="aggressive",outcome="extract"}': 1,
    'weir_compactions_total{tier="background",outcome="failed"}': 1,
    weir_emergencies_total: 1,
    'weir_deliveries_total{platform="discord",outcome="delivered"}': 1,
    'weir_deliveries_total{platform="discord",outcome="retried"}': 1,
    'weir_deliveries_total{platform="discord",outcome="failed"}': 1,
    'weir_waiting_channels{platform="discord"}': 2,
    'weir_waiting_channels{platform="slack"}': 0,
    'weir_waiting_seconds{platform="discord"}': 61.5,
    'weir_waiting_seconds{platform="slack"}': 0,
    'weir_circuit_open{model="priced"}': 1,
    'weir_circuit_open{model="free"}': 0,
    'weir_check{check="slack"}': 0,
    'weir_check{check="summaries"}': 0.5,
    'weir_check{check="database"}': 1,
    weir_channels_loaded: 3,
    'weir_info{version="1.2.3"}': 1,
  };
  const shown = Object.fromEntries(Object.keys(expected).map((name) => [name, found.get(name)]));
  assert.deepEqual(shown, expected);
  assert.ok(Math.abs((found.get("weir_turn_own_seconds_sum") ?? 0) - 0.08) < 1e-9);
  const all = [...found.keys()].join("\n");
  // A model without a price has no cost, and not the cost 0.
  assert.doesNotMatch(all, /dollars_total\{purpose="subagent"/);
  assert.doesNotMatch(all, /1234567890|C1|m-1|ECONNRESET|away|nonsense/);
});

test("however many models there are, so many have a name of their own", async () => {
  const { events, samples } = openScene(async () => []);
  for (let model = 0; model < 500; model++) events.emit({ ...CALL, model: `model-${model}` });
  const calls = [...(await samples())].filter(([name]) => name.startsWith("weir_model_calls_total"));
  assert.equal(calls.length, 51);
  assert.equal(calls.find(([name]) => name.includes('"other"'))?.[1], 450);
});

test("a page is made once for all that ask at a time, and without who waits where the database does not tell", async () => {
  let looks = 0;
  const { samples } = openScene(async () => {
    looks += 1;
    return Promise.reject(new Error("the database is away"));
  });
  const pages = await Promise.all(Array.from({ length: 1000 }, async () => samples()));
  assert.equal(looks, 1);
  assert.equal(pages[999]?.get("weir_channels_loaded"), 3);
  assert.equal(pages[0]?.has('weir_waiting_channels{platform="discord"}'), false);
});

test("a daemon of a cluster tells how it stands there, and one that is alone tells nothing of it", async () => {
  const due = async (): Promise<[]> => Promise.resolve([]);
  const member: ClusterState = {
    name: "a",
    state: "member",
    isResting: false,
    why: null,
    owned: 21,
    members: 3,
    isPublishing: true,
    wakes: { sent: 5, received: 4, dropped: 1 },
    shards: [{ platform: "discord", state: "member", of: 2, held: [1], members: 2 }],
  };
  const found = await openScene(due, member).samples();
  assert.deepEqual(
    ["weir_cluster_member", "weir_cluster_partitions", "weir_cluster_members"].map((name) => found.get(name)),
    [1, 21, 3],
  );
  assert.equal(found.get('weir_cluster_wakes{kind="dropped"}'), 1);
  assert.equal(found.get('weir_cluster_shards{platform="discord"}'), 1);
  assert.equal(found.get('weir_check{check="cluster"}'), 1);
  const away = await openScene(due, { ...member, state: "joining", owned: 0, members: null }).samples();
  assert.equal(away.get("weir_cluster_member"), 0);
  assert.equal(away.get('weir_check{check="cluster"}'), 0.5);
  const shards = member.shards.map((one) => ({ ...one, state: "joining" as const, held: [] }));
  const deaf = await openScene(due, { ...member, shards }).samples();
  assert.equal(deaf.get('weir_cluster_shards{platform="discord"}'), 0);
  assert.equal(deaf.get('weir_check{check="cluster"}'), 0.5);
  const alone = [...(await openScene(due).samples()).keys()];
  assert.deepEqual(
    alone.filter((name) => name.includes("cluster")),
    [],
  );
});
