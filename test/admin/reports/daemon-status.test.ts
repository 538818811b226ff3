import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ClusterState,
  describeCluster,
  describeOutage,
  statusSchema,
  StatusKeeper,
} from "../../../src/admin/reports/daemon-status.ts";
import { Breaker } from "../../../src/compactor/breaker.ts";
import { Events } from "../../../src/telemetry/events.ts";
import { SILENT } from "../../store/open-store.ts";

function openScene(): {
  keeper: StatusKeeper;
  call: (outcome: string, purpose?: "turn" | "subagent" | "compaction") => string | null | undefined;
} {
  const events = new Events(SILENT);
  const keeper = new StatusKeeper({
    platforms: [{ name: "terminal" }],
    models: { describe: () => "a server" },
    breaker: new Breaker(() => 0),
    budgets: { low: () => [] },
    registry: { size: 2 },
    events,
  });
  const tokens = { promptTokens: null, cachedTokens: null, completionTokens: null };
  const call = (outcome: string, purpose: "turn" | "subagent" | "compaction" = "turn") => {
    const channel = "terminal:main";
    events.emit({ type: "model_call", channel, purpose, model: "m", outcome, ...tokens, totalMs: 1 });
    const [last] = keeper.vitals().calls;
    assert.equal(last?.outcome, outcome);
    return last && describeOutage(last);
  };
  return { keeper, call };
}

test("a model is down after three failed calls for answers in a row, until one is answered", () => {
  const { call } = openScene();
  assert.deepEqual([call("unavailable"), call("unavailable"), call("answered")], [null, null, null]);
  assert.deepEqual([call("unavailable"), call("unavailable", "subagent")], [null, null]);
  // Neither of them tells anything: a person has stopped the one, and the other was too long.
  assert.deepEqual([call("aborted"), call("context_length")], [null, null]);
  assert.equal(call("timeout"), "the last 3 calls for answers failed (timeout)");
  assert.match(call("answered", "compaction") ?? "", /^the last 3 calls/);
  assert.equal(call("answered"), null);
});

test("a daemon's phases only go forward, and what it tells is read back", () => {
  const { keeper, call } = openScene();
  assert.equal(keeper.vitals().phase, "starting");
  keeper.enter("serving");
  assert.equal(keeper.vitals().phase, "serving");
  keeper.enter("draining");
  keeper.enter("serving");
  assert.equal(keeper.status().phase, "draining");
  call("unavailable");
  assert.deepEqual(statusSchema.safeParse(JSON.parse(JSON.stringify(keeper.status()))).data, keeper.status());
});

test("how a daemon stands in its cluster is said in words", () => {
  const state: ClusterState = {
    name: "a",
    state: "member",
    isResting: false,
    why: null,
    owned: 32,
    members: 2,
    isPublishing: true,
    wakes: { sent: 1, received: 2, dropped: 0 },
    shards: [],
  };
  assert.equal(describeCluster(state), "home of 32 partitions, among 2 daemons that take their share");
  const drained = describeCluster({ ...state, isResting: true, isPublishing: false, members: null });
  assert.equal(
    drained,
    "home of 32 partitions; it is drained: it takes no more while others are there; RabbitMQ takes nothing from it now",
  );
  const joining: ClusterState = { ...state, state: "joining" };
  assert.match(describeCluster(joining), /^not in the cluster, .* tries to join: it has no connection/);
  assert.match(describeCluster({ ...joining, why: "its name is taken" }), /to join: its name is taken$/);
  assert.match(describeCluster({ ...state, state: "leaving" }), /hands on 32 partitions$/);
});
