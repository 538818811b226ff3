import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const OWN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const MODEL_SECONDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];
/** Shares of the usable window; the default thresholds of the tiers are among them. */
const WINDOW_SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1];

/** The counters and histograms, which grow by events. */
export function createCounters(registry: Registry) {
  const counter = counterIn(registry);
  const seconds = histogramIn(registry);
  return {
    turns: counter("weir_turns_total", "Turns that have ended", ["platform", "outcome"]),
    ownSeconds: seconds(
      "weir_turn_own_seconds",
      "Time of turns outside of model calls, from the message's arrival to the end, waits for an earlier turn included",
      OWN_SECONDS,
    ),
    modelSeconds: seconds("weir_turn_model_seconds", "Time of turns in model calls", MODEL_SECONDS),
    replySeconds: seconds(
      "weir_reply_seconds",
      "Time from a message's arrival until the platform has the whole answer",
      MODEL_SECONDS,
      ["platform"],
    ),
    windowUsed: seconds(
      "weir_window_used_ratio",
      "Share of the model's usable window that a turn's last request took",
      WINDOW_SHARES,
    ),
    recallSeconds: seconds(
      "weir_recall_seconds",
      "Time of turns' searches before their first model call",
      OWN_SECONDS,
    ),
    recalled: counter("weir_recalled_total", "Entries and memories that these searches have found", ["kind"]),
    ...modelCounters(registry),
    ...compactionCounters(registry),
    emergencies: counter(
      "weir_emergencies_total",
      "Times at which messages left a view before a summary covered them",
    ),
    deliveries: counter(
      "weir_deliveries_total",
      "Whole answers delivered; attempts that failed: retried, or for good",
      ["platform", "outcome"],
    ),
    tools: counter("weir_tool_failures_total", "Calls of tools that failed"),
    taken: counter("weir_channels_lost_total", "Channels that another daemon has taken"),
  };
}

function modelCounters(registry: Registry) {
  const counter = counterIn(registry);
  const seconds = histogramIn(registry);
  return {
    calls: counter("weir_model_calls_total", "Calls of models, each attempt", [
      "purpose",
      "model",
      "outcome",
    ]),
    retries: counter("weir_model_retries_total", "Attempts for turns after a failed attempt"),
    callSeconds: seconds("weir_model_call_seconds", "Time of model calls", MODEL_SECONDS, ["purpose"]),
    firstTokenSeconds: seconds(
      "weir_model_first_token_seconds",
      "Time from a model's request to its first piece of text or call",
      MODEL_SECONDS,
      ["purpose"],
    ),
    tokens: counter(
      "weir_model_tokens_total",
      "Tokens as providers reported them, else estimated; cached and written are parts of in",
      ["purpose", "model", "kind"],
    ),
    dollars: counter("weir_model_cost_dollars_total", "Cost of models whose price is known", [
      "purpose",
      "model",
    ]),
  };
}

function compactionCounters(registry: Registry) {
  const counter = counterIn(registry);
  const seconds = histogramIn(registry);
  return {
    compactions: counter(
      "weir_compactions_total",
      "Ends of compactions; written: ahead, committed later; extract: committed without a model's summary",
      ["kind", "tier", "outcome"],
    ),
    compactionSeconds: seconds("weir_compaction_seconds", "Time of compactions", MODEL_SECONDS, ["kind"]),
    refused: counter("weir_summaries_refused_total", "Summaries of models that were not good enough"),
    memories: counter("weir_memories_noted_total", "Memories that summaries have noted"),
  };
}

/** The gauges, which are set for each page. */
export function createGauges(registry: Registry) {
  const gauge = gaugesIn(registry);
  return {
    info: gauge("weir_info", "The version that runs", ["version"]),
    check: gauge("weir_check", "What /readyz looks at: 1 is well, 0.5 degraded, 0 failed", ["check"]),
    loaded: gauge("weir_channels_loaded", "Channels in memory"),
    waiting: gauge("weir_waiting_channels", "Channels with a message that waits for its answer", [
      "platform",
    ]),
    longest: gauge("weir_waiting_seconds", "Age of the message that has waited longest for its answer", [
      "platform",
    ]),
    undelivered: gauge("weir_undelivered_parts", "Parts of finished answers that their platform lacks", [
      "platform",
    ]),
    oldest: gauge("weir_undelivered_seconds", "Age of the oldest finished answer that its platform lacks", [
      "platform",
    ]),
    connections: gauge("weir_database_connections", "Connections of the pool to Postgres", ["state"]),
    queued: gauge("weir_database_waiting", "Statements that wait for a connection of the pool"),
    circuit: gauge("weir_circuit_open", "1: summaries by this model are not tried for a while", ["model"]),
  };
}

/** The gauges of a cluster; they are absent without one. */
export function createClusterGauges(registry: Registry) {
  const gauge = gaugesIn(registry);
  return {
    member: gauge("weir_cluster_member", "1: this daemon is in its cluster"),
    partitions: gauge("weir_cluster_partitions", "Partitions whose channels this daemon serves, of 64"),
    members: gauge("weir_cluster_members", "Daemons of the cluster that take their share"),
    shards: gauge("weir_cluster_shards", "Shards of a platform that this daemon has", ["platform"]),
    wakes: gauge("weir_cluster_wakes", "Wakes since the start; dropped ones are found by the home's look", [
      "kind",
    ]),
  };
}

function gaugesIn(registry: Registry) {
  return <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
}

function counterIn(registry: Registry) {
  return <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] });
}

function histogramIn(registry: Registry) {
  return <L extends string>(name: string, help: string, buckets: number[], labelNames: readonly L[] = []) =>
    new Histogram({ name, help, labelNames, buckets, registers: [registry] });
}
