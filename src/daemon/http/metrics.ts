import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { Cache } from "../../async/cache.ts";
import { costOf } from "../../core/cost.ts";
import { parseAddress } from "../../core/ids.ts";
import type { ClusterState } from "../../admin/reports/daemon-status.ts";
import type { Daemon } from "../daemon.ts";
import type { WeirEvent } from "../../telemetry/events.ts";
import type { Readiness } from "./readiness.ts";

export interface MeasuredDaemon {
  readonly events: Daemon["events"];
  readonly models: Pick<Daemon["models"], "priceOf">;
  readonly store: { readonly overview: Pick<Daemon["store"]["overview"], "due"> };
  readonly vitals: Daemon["vitals"];
}

/** How long a rendered page is reused, ms: concurrent scrapes cost as much as one. */
const FRESH_MS = 1000;
/** How long the number of waiting messages is reused, ms: it is the only metric that costs a query. */
const WAITING_MS = 5000;
/** Most distinct model names; further ones are counted as `other`. */
const MAX_MODELS = 50;

const OWN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const MODEL_SECONDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];

const CHECKED = { ok: 1, degraded: 0.5, failed: 0 } as const;

type ModelCall = Extract<WeirEvent, { type: "model_call" }>;
type Compaction = Extract<WeirEvent, { type: "compaction" }>;

/**
 * Metrics of a daemon for Prometheus, from its events. Labels are from closed sets (platforms, outcomes, tiers, configured models), and
 * never identify people, channels or texts.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #counted = createCounters(this.#registry);
  readonly #gauges = createGauges(this.#registry);
  readonly #readiness: Readiness;
  readonly #page = new Cache<string>(1);
  readonly #waiting = new Cache<null>(1);
  readonly #models = new Set<string>();
  #cluster: ReturnType<typeof createClusterGauges> | null = null;
  #daemon: MeasuredDaemon | null = null;

  constructor(readiness: Readiness, version: string) {
    this.#readiness = readiness;
    this.#gauges.info.set({ version }, 1);
    collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Starts to count a daemon's events. */
  watch(daemon: MeasuredDaemon): void {
    this.#daemon = daemon;
    daemon.events.on((event) => this.#note(event));
  }

  /** The page for a scrape. */
  async render(): Promise<string> {
    return this.#page.get("", async () => {
      await this.#look();
      return { value: await this.#registry.metrics(), forMs: FRESH_MS };
    });
  }

  /** Sets the gauges. */
  async #look(): Promise<void> {
    const { check, loaded, circuit } = this.#gauges;
    const { checks } = await this.#readiness.report();
    check.reset();
    for (const { name, state } of checks) check.set({ check: name }, CHECKED[state]);
    if (this.#daemon === null) return;
    const { circuits, channels, cluster } = this.#daemon.vitals();
    loaded.set(channels);
    if (cluster !== undefined) this.#lookAtCluster(cluster);
    const resting = circuits.filter(({ waitMs }) => waitMs > 0);
    const open = new Set(resting.map(({ model: name }) => this.#modelLabel(name)));
    for (const model of this.#models) circuit.set({ model }, open.has(model) ? 1 : 0);
    await this.#waiting.get("", async () => {
      await this.#lookWhoWaits();
      return { value: null, forMs: WAITING_MS };
    });
  }

  /** Sets the gauges of a cluster; they are absent without one. */
  #lookAtCluster({ state, owned, members, wakes, shards }: ClusterState): void {
    const gauges = (this.#cluster ??= createClusterGauges(this.#registry));
    gauges.member.set(state === "member" ? 1 : 0);
    gauges.partitions.set(owned);
    if (members === null) gauges.members.reset();
    else gauges.members.set({}, members);
    for (const [kind, count] of Object.entries(wakes)) gauges.wakes.set({ kind }, count);
    for (const { platform, held } of shards) gauges.shards.set({ platform }, held.length);
  }

  async #lookWhoWaits(): Promise<void> {
    const { waiting, longest } = this.#gauges;
    const found = await this.#daemon?.store.overview.due().catch(() => null);
    waiting.reset();
    longest.reset();
    // Unknown: leaves the metric absent.
    if (found === null || found === undefined) return;
    const known = this.#daemon?.vitals().platforms ?? [];
    const platforms = known.map(({ name: platform }) => {
      return found.find((one) => one.platform === platform) ?? { platform, channels: 0, longestMs: 0 };
    });
    for (const { platform, channels, longestMs } of platforms) {
      waiting.set({ platform }, channels);
      longest.set({ platform }, Math.max(0, longestMs) / 1000);
    }
  }

  #note(event: WeirEvent): void {
    const { turns, ownSeconds, modelSeconds, deliveries, emergencies, refused, tools, taken } = this.#counted;
    const platform = "channel" in event ? parseAddress(event.channel).platform : "";
    switch (event.type) {
      case "turn_settled": {
        turns.inc({ platform, outcome: event.outcome });
        ownSeconds.observe(Math.max(0, event.turnMs - event.modelMs) / 1000);
        modelSeconds.observe(event.modelMs / 1000);
        return;
      }
      case "model_call":
        return this.#noteCall(event);
      case "compaction":
        return this.#noteCompaction(event);
      case "compaction_refused":
        return refused.inc();
      case "emergency":
        return emergencies.inc();
      case "reply_delivered":
        return deliveries.inc({ platform, outcome: "delivered" });
      case "delivery_failed":
        return deliveries.inc({ platform, outcome: event.retryInMs === null ? "failed" : "retried" });
      case "tool_failed":
        return tools.inc();
      case "channel_lost":
        return taken.inc();
      default:
    }
  }

  #noteCall({ purpose, outcome, cachedTokens, writtenTokens, ...call }: ModelCall): void {
    const { calls, callSeconds, tokens, dollars } = this.#counted;
    const model = this.#modelLabel(call.model);
    calls.inc({ purpose, model, outcome });
    callSeconds.observe({ purpose }, call.totalMs / 1000);
    const spent = {
      model: call.model,
      calls: 1,
      uncounted: 0,
      promptTokens: (call.promptTokens ?? 0) + (call.assumedPromptTokens ?? 0),
      cachedTokens: cachedTokens ?? 0,
      writtenTokens: writtenTokens ?? 0,
      completionTokens: (call.completionTokens ?? 0) + (call.assumedCompletionTokens ?? 0),
    };
    tokens.inc({ purpose, model, kind: "in" }, spent.promptTokens);
    tokens.inc({ purpose, model, kind: "cached" }, spent.cachedTokens);
    tokens.inc({ purpose, model, kind: "written" }, spent.writtenTokens);
    tokens.inc({ purpose, model, kind: "out" }, spent.completionTokens);
    const cost = costOf([spent], (name) => this.#daemon?.models.priceOf(name));
    // A model without a price has no metric, instead of the value 0.
    if (cost.dollars !== null) dollars.inc({ purpose, model }, cost.dollars);
  }

  #noteCompaction({ phase, tier, model, ms }: Compaction): void {
    if (phase === "started") return;
    const { compactions, compactionSeconds } = this.#counted;
    const outcome = phase === "committed" && model === null ? "extract" : phase;
    compactions.inc({ tier, outcome });
    compactionSeconds.observe(ms / 1000);
  }

  #modelLabel(name: string): string {
    if (!this.#models.has(name) && this.#models.size >= MAX_MODELS) return "other";
    this.#models.add(name);
    return name;
  }
}

function createCounters(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Counter<Label> => new Counter({ name, help, labelNames, registers });
  const seconds = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ): Histogram<Label> => new Histogram({ name, help, labelNames, buckets, registers });
  return {
    turns: counter("weir_turns_total", "Turns that have ended", ["platform", "outcome"]),
    ownSeconds: seconds(
      "weir_turn_own_seconds",
      "Time of turns outside of model calls, from the message's arrival to the end, waits for an earlier turn included",
      OWN_SECONDS,
    ),
    modelSeconds: seconds("weir_turn_model_seconds", "Time of turns in model calls", MODEL_SECONDS),
    calls: counter("weir_model_calls_total", "Calls of models, each attempt", [
      "purpose",
      "model",
      "outcome",
    ]),
    callSeconds: seconds("weir_model_call_seconds", "Time of model calls", MODEL_SECONDS, ["purpose"]),
    tokens: counter(
      "weir_model_tokens_total",
      "Tokens as providers reported them, else estimated; cached is part of in",
      ["purpose", "model", "kind"],
    ),
    dollars: counter("weir_model_cost_dollars_total", "Cost of models whose price is known", [
      "purpose",
      "model",
    ]),
    compactions: counter(
      "weir_compactions_total",
      "Ends of compactions; written: ahead, committed later; extract: committed without a model's summary",
      ["tier", "outcome"],
    ),
    compactionSeconds: seconds("weir_compaction_seconds", "Time of compactions", MODEL_SECONDS),
    refused: counter("weir_summaries_refused_total", "Summaries of models that were not good enough"),
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

type MakeGauge = <Label extends string>(
  name: string,
  help: string,
  labelNames?: readonly Label[],
) => Gauge<Label>;

function gaugesIn(registry: Registry): MakeGauge {
  return (name, help, labelNames = []) => new Gauge({ name, help, labelNames, registers: [registry] });
}

function createClusterGauges(registry: Registry) {
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

function createGauges(registry: Registry) {
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
    circuit: gauge("weir_circuit_open", "1: summaries by this model are not tried for a while", ["model"]),
  };
}
