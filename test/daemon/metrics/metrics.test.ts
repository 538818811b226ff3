// proves: src/daemon/metrics/instruments.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { CALL, EVENTS, MEMBER, openMeasured } from "./measured.ts";

test("events become numbers, by outcome, tier, platform and model, and by nothing that grows", async () => {
  const { events, breaker, samples } = openMeasured({
    due: async () => [{ platform: "discord", channels: 2, longestMs: 61_500 }],
    undelivered: async () => [{ platform: "slack", parts: 3, longestMs: 2500 }],
    connections: () => ({ busy: 9, idle: 1, waiting: 4 }),
  });
  for (const event of EVENTS) events.emit(event);
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
    'weir_window_used_ratio_bucket{le="0.6"}': 0,
    'weir_window_used_ratio_bucket{le="0.7"}': 1,
    weir_window_used_ratio_count: 1,
    weir_recall_seconds_count: 1,
    'weir_recalled_total{kind="entries"}': 4,
    'weir_recalled_total{kind="memories"}': 2,
    weir_model_retries_total: 1,
    'weir_model_first_token_seconds_sum{purpose="turn"}': 0.4,
    'weir_compactions_total{kind="leaf",tier="background",outcome="committed"}': 1,
    'weir_compactions_total{kind="leaf",tier="aggressive",outcome="extract"}': 1,
    'weir_compactions_total{kind="leaf",tier="background",outcome="failed"}': 1,
    'weir_compaction_seconds_count{kind="leaf"}': 3,
    weir_memories_noted_total: 2,
    'weir_reply_seconds_sum{platform="discord"}': 1.6,
    'weir_undelivered_parts{platform="discord"}': 0,
    'weir_undelivered_parts{platform="slack"}': 3,
    'weir_undelivered_seconds{platform="slack"}': 2.5,
    'weir_database_connections{state="busy"}': 9,
    'weir_database_connections{state="idle"}': 1,
    weir_database_waiting: 4,
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
  const { events, samples } = openMeasured();
  for (let model = 0; model < 500; model++) events.emit({ ...CALL, model: `model-${model}` });
  const calls = [...(await samples())].filter(([name]) => name.startsWith("weir_model_calls_total"));
  assert.equal(calls.length, 51);
  assert.equal(calls.find(([name]) => name.includes('"other"'))?.[1], 450);
});

test("a page is made once for all that ask at a time, and without who waits where the database does not tell", async () => {
  let looks = 0;
  const { samples } = openMeasured({
    due: async () => {
      looks += 1;
      return Promise.reject(new Error("the database is away"));
    },
  });
  const pages = await Promise.all(Array.from({ length: 1000 }, async () => samples()));
  assert.equal(looks, 1);
  assert.equal(pages[999]?.get("weir_channels_loaded"), 3);
  assert.equal(pages[0]?.has('weir_waiting_channels{platform="discord"}'), false);
  assert.equal(pages[0]?.get('weir_undelivered_parts{platform="discord"}'), 0);
});

test("a daemon of a cluster tells how it stands there, and one that is alone tells nothing of it", async () => {
  const found = await openMeasured({}, MEMBER).samples();
  assert.deepEqual(
    ["weir_cluster_member", "weir_cluster_partitions", "weir_cluster_members"].map((name) => found.get(name)),
    [1, 21, 3],
  );
  assert.equal(found.get('weir_cluster_wakes{kind="dropped"}'), 1);
  assert.equal(found.get('weir_cluster_shards{platform="discord"}'), 1);
  assert.equal(found.get('weir_check{check="cluster"}'), 1);
  const away = await openMeasured({}, { ...MEMBER, state: "joining", owned: 0, members: null }).samples();
  assert.equal(away.get("weir_cluster_member"), 0);
  assert.equal(away.get('weir_check{check="cluster"}'), 0.5);
  const shards = MEMBER.shards.map((one) => ({ ...one, state: "joining" as const, held: [] }));
  const deaf = await openMeasured({}, { ...MEMBER, shards }).samples();
  assert.equal(deaf.get('weir_cluster_shards{platform="discord"}'), 0);
  assert.equal(deaf.get('weir_check{check="cluster"}'), 0.5);
  const alone = [...(await openMeasured().samples()).keys()];
  assert.deepEqual(
    alone.filter((name) => name.includes("cluster")),
    [],
  );
});

test("what may fail is counted from the start, at zero: an increase over its first failure is seen", async () => {
  const found = await openMeasured().samples();
  const failures = [
    'weir_turns_total{platform="discord",outcome="failed"}',
    'weir_deliveries_total{platform="slack",outcome="failed"}',
    'weir_compactions_total{kind="merge",tier="background",outcome="extract"}',
    "weir_emergencies_total",
  ];
  assert.deepEqual(
    failures.map((name) => found.get(name)),
    [0, 0, 0, 0],
  );
});
