import { collectDefaultMetrics, Registry } from "prom-client";
import { Cache } from "../../async/cache.ts";
import { costOf } from "../../core/cost.ts";
import { parseAddress } from "../../core/ids.ts";
import type { ClusterState } from "../../admin/reports/daemon-status.ts";
import type { Daemon } from "../daemon.ts";
import type { WeirEvent } from "../../telemetry/events.ts";
import type { MetricFamily } from "../../telemetry/otlp/metric-families.ts";
import { Readiness } from "./readiness.ts";
import { createClusterGauges, createCounters, createGauges } from "./instruments.ts";

export interface MeasuredDaemon {
  readonly events: Daemon["events"];
  readonly models: Pick<Daemon["models"], "priceOf">;
  readonly store: {
    readonly overview: Pick<Daemon["store"]["overview"], "due" | "undelivered" | "connections">;
  };
  readonly vitals: Daemon["vitals"];
}

/** How long a rendered page is reused, ms: concurrent scrapes cost as much as one. */
const FRESH_MS = 1000;
/** How long the numbers of waiting messages and answers are reused, ms: they cost a query each. */
const WAITING_MS = 5000;
/** Most distinct model names; further ones are counted as `other`. */
const MAX_MODELS = 50;

const CHECKED = { ok: 1, degraded: 0.5, failed: 0 } as const;
/** Series that are there from the start: of one that begins with its first event, `increase()` misses that event. */
const FROM_THE_START = {
  turns: ["answered", "skipped", "stopped", "failed"],
  deliveries: ["delivered", "retried", "failed"],
  kinds: ["leaf", "merge", "redo"],
  tiers: ["background", "aggressive", "emergency", "forced"],
  compactions: ["committed", "extract", "failed"],
} as const;

type ModelCall = Extract<WeirEvent, { type: "model_call" }>;
type Compaction = Extract<WeirEvent, { type: "compaction" }>;

/** Watches a daemon for whoever monitors it: over HTTP, or through a collector. */
export type Monitor = ReturnType<typeof createMonitor>;

export function createMonitor(version: string) {
  const readiness = new Readiness();
  const metrics = new Metrics(readiness, version);
  return {
    readiness,
    metrics,
    /** Sets the daemon to report on. */
    watch(daemon: Daemon): void {
      readiness.watch(daemon);
      metrics.watch(daemon);
    },
  };
}

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
  #isAsked = false;
  #daemon: MeasuredDaemon | null = null;

  constructor(readiness: Readiness, version: string) {
    this.#readiness = readiness;
    this.#gauges.info.set({ version }, 1);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Starts to count a daemon's events. */
  watch(daemon: MeasuredDaemon): void {
    this.#daemon = daemon;
    daemon.events.on((event) => this.#note(event));
    const { turns, deliveries, compactions, replySeconds } = this.#counted;
    for (const { name: platform } of daemon.vitals().platforms) {
      replySeconds.zero({ platform });
      for (const outcome of FROM_THE_START.turns) turns.inc({ platform, outcome }, 0);
      for (const outcome of FROM_THE_START.deliveries) deliveries.inc({ platform, outcome }, 0);
    }
    for (const kind of FROM_THE_START.kinds)
      for (const tier of FROM_THE_START.tiers)
        for (const outcome of FROM_THE_START.compactions) compactions.inc({ kind, tier, outcome }, 0);
  }

  /** The page for a scrape. */
  async render(): Promise<string> {
    return this.#page.get("", async () => {
      await this.#look();
      return { value: await this.#registry.metrics(), forMs: FRESH_MS };
    });
  }

  /** The same for a collector. */
  async families(): Promise<readonly MetricFamily[]> {
    await this.#look();
    const found = await this.#registry.getMetricsAsJSON();
    // Its own types lack the names of a histogram's samples, and have the type as a number.
    // oxlint-disable-next-line no-unsafe-type-assertion
    return found as unknown as readonly MetricFamily[];
  }

  async #look(): Promise<void> {
    // The process is measured a hundred times a second: not where nobody asks.
    if (!this.#isAsked) collectDefaultMetrics({ register: this.#registry });
    this.#isAsked = true;
    const { check, loaded, circuit, connections, queued } = this.#gauges;
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
    const daemon = this.#daemon;
    const { busy, idle, waiting } = daemon.store.overview.connections();
    connections.set({ state: "busy" }, busy);
    connections.set({ state: "idle" }, idle);
    queued.set(waiting);
    await this.#waiting.get("", async () => {
      await this.#lookWhatWaits(daemon);
      return { value: null, forMs: WAITING_MS };
    });
  }

  #lookAtCluster({ state, owned, members, wakes, shards }: ClusterState): void {
    const gauges = (this.#cluster ??= createClusterGauges(this.#registry));
    gauges.member.set(state === "member" ? 1 : 0);
    gauges.partitions.set(owned);
    if (members === null) gauges.members.reset();
    else gauges.members.set({}, members);
    for (const [kind, count] of Object.entries(wakes)) gauges.wakes.set({ kind }, count);
    for (const { platform, held } of shards) gauges.shards.set({ platform }, held.length);
  }

  /** Leaves out what the database does not answer. */
  async #lookWhatWaits(daemon: MeasuredDaemon): Promise<void> {
    const { waiting, longest, undelivered, oldest } = this.#gauges;
    for (const gauge of [waiting, longest, undelivered, oldest]) gauge.reset();
    const { overview } = daemon.store;
    const [due, unsent] = await Promise.allSettled([overview.due(), overview.undelivered()]);
    for (const { name: platform } of daemon.vitals().platforms) {
      const isOfIt = (one: { readonly platform: string }): boolean => one.platform === platform;
      if (due.status === "fulfilled") {
        const found = due.value.find(isOfIt);
        waiting.set({ platform }, found?.channels ?? 0);
        longest.set({ platform }, secondsOf(found));
      }
      if (unsent.status === "fulfilled") {
        const found = unsent.value.find(isOfIt);
        undelivered.set({ platform }, found?.parts ?? 0);
        oldest.set({ platform }, secondsOf(found));
      }
    }
  }

  #note(event: WeirEvent): void {
    const { deliveries, emergencies, refused, retries, replySeconds, tools, taken, ...counted } =
      this.#counted;
    const platform = "channel" in event ? parseAddress(event.channel).platform : "";
    switch (event.type) {
      case "turn_settled":
        counted.turns.inc({ platform, outcome: event.outcome });
        counted.ownSeconds.observe(Math.max(0, event.turnMs - event.modelMs) / 1000);
        counted.modelSeconds.observe(event.modelMs / 1000);
        if (event.windowUsed !== undefined) counted.windowUsed.observe(event.windowUsed);
        return;
      case "recalled":
        counted.recallSeconds.observe(event.ms / 1000);
        counted.recalled.inc({ kind: "entries" }, event.entries);
        return counted.recalled.inc({ kind: "memories" }, event.memories);
      case "model_call":
        return this.#noteCall(event);
      case "model_retry":
        return retries.inc();
      case "compaction":
        return this.#noteCompaction(event);
      case "compaction_refused":
        return refused.inc();
      case "emergency":
        return emergencies.inc();
      case "reply_delivered":
        replySeconds.observe({ platform }, event.turnMs / 1000);
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
    const { calls, callSeconds, firstTokenSeconds, tokens, dollars } = this.#counted;
    const model = this.#modelLabel(call.model);
    calls.inc({ purpose, model, outcome });
    callSeconds.observe({ purpose }, call.totalMs / 1000);
    if (typeof call.firstTokenMs === "number")
      firstTokenSeconds.observe({ purpose }, call.firstTokenMs / 1000);
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

  #noteCompaction({ phase, kind, tier, model, ms, memories }: Compaction): void {
    if (phase === "started") return;
    const { compactions, compactionSeconds, memories: noted } = this.#counted;
    const outcome = phase === "committed" && model === null ? "extract" : phase;
    compactions.inc({ kind, tier, outcome });
    compactionSeconds.observe({ kind }, ms / 1000);
    if (phase === "committed") noted.inc(memories);
  }

  #modelLabel(name: string): string {
    if (!this.#models.has(name) && this.#models.size >= MAX_MODELS) return "other";
    this.#models.add(name);
    return name;
  }
}

function secondsOf(oldest: { readonly longestMs: number } | undefined): number {
  return Math.max(0, oldest?.longestMs ?? 0) / 1000;
}
