import { formatNumber } from "../../text/format.ts";
import type { Receipt } from "../../core/message.ts";
import type { Tier } from "../../core/compaction.ts";
import { counted } from "../../text/text.ts";
import type { WeirEvent } from "../../telemetry/events.ts";

export class ReplayTally {
  readonly #startedAt = performance.now();
  readonly #outcomes = new Map<string, number>();
  readonly #compactions = new CompactionTally();
  #accepted = 0;
  #known = 0;
  #emergencies = 0;
  #omitted = 0;
  #modelCalls = 0;
  #promptTokens = 0;
  #replyMs: number[] = [];
  #slowest: { ms: number; channel: string } | null = null;

  receipt(receipt: Receipt): void {
    if (receipt.outcome === "accepted") this.#accepted++;
    else this.#known++;
  }

  count(event: WeirEvent): void {
    switch (event.type) {
      case "turn_settled":
        this.#outcomes.set(event.outcome, (this.#outcomes.get(event.outcome) ?? 0) + 1);
        this.#replyMs.push(event.turnMs);
        if (event.turnMs > (this.#slowest?.ms ?? -1))
          this.#slowest = { ms: event.turnMs, channel: event.channel };
        return;
      case "compaction":
        this.#compactions.count(event);
        return;
      case "compaction_refused":
        this.#compactions.refused++;
        return;
      case "emergency":
        this.#emergencies++;
        this.#omitted = Math.max(this.#omitted, event.omitted);
        return;
      case "model_call":
        this.#modelCalls++;
        this.#promptTokens += (event.promptTokens ?? 0) + (event.assumedPromptTokens ?? 0);
        return;
      default:
    }
  }

  table(end: { stopped: boolean; skippedLines: number }): string {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const outcomes = [...this.#outcomes.entries()].map(
      ([outcome, count]) => `${formatNumber(count)} ${outcome}`,
    );
    const rows: [string, string][] = [
      [
        "messages",
        `${formatNumber(this.#accepted)} appended, ${formatNumber(this.#known)} known from an earlier run`,
      ],
      ["turns", outcomes.length === 0 ? "none" : outcomes.join(", ")],
      ...this.#compactions.rows(),
      [
        "emergencies",
        `${formatNumber(this.#emergencies)} (at most ${formatNumber(this.#omitted)} messages omitted from a view)`,
      ],
      [
        "model calls",
        `${formatNumber(this.#modelCalls)}, ${formatNumber(this.#promptTokens)} tokens in as reported`,
      ],
      ["reply time", this.#replyTimes()],
      [
        "took",
        `${seconds.toFixed(1)} s, ${formatNumber(Math.round(this.#accepted / Math.max(seconds, 0.001)))} messages a second`,
      ],
    ];
    if (end.skippedLines > 0) rows.push(["empty lines", formatNumber(end.skippedLines)]);
    if (end.stopped) rows.push(["stopped", "by a signal; the same command goes on from here"]);
    const width = Math.max(...rows.map(([name]) => name.length));
    return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
  }

  #replyTimes(): string {
    const sorted = this.#replyMs.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)];
    if (median === undefined || this.#slowest === null) return "no replies";
    return `median ${median.toFixed(0)} ms, slowest ${this.#slowest.ms.toFixed(0)} ms (in ${this.#slowest.channel})`;
  }
}

/** Counts what the compactors do in a replay. */
export class CompactionTally {
  readonly #leaves: Record<Tier, number> = { background: 0, aggressive: 0, emergency: 0, forced: 0 };
  #merges = 0;
  #redos = 0;
  #digests = 0;
  #ended = { stale: 0, failed: 0 };
  #memories = 0;
  #tokensBefore = 0;
  #tokensAfter = 0;
  /** Answers of a model that were no good. */
  refused = 0;

  count(event: WeirEvent & { type: "compaction" }): void {
    if (event.phase === "started" || event.phase === "written") return;
    if (event.phase !== "committed") {
      this.#ended[event.phase]++;
      return;
    }
    this.#memories += event.memories;
    if (event.model === "digest") this.#digests++;
    if (event.kind === "merge") this.#merges++;
    if (event.kind === "redo") this.#redos++;
    if (event.kind !== "leaf") return;
    this.#leaves[event.tier]++;
    this.#tokensBefore += event.tokensBefore;
    this.#tokensAfter += event.tokensAfter ?? 0;
  }

  /** Lines of the table at the end. */
  rows(): [string, string][] {
    const leaves = Object.entries(this.#leaves)
      .filter(([, count]) => count > 0)
      .map(([tier, count]) => `${formatNumber(count)} ${tier}`);
    const saved = `${formatNumber(this.#tokensBefore - this.#tokensAfter)} (about ${formatNumber(this.#tokensBefore)} became ${formatNumber(this.#tokensAfter)})`;
    return [
      ["compactions", leaves.length === 0 ? "none" : leaves.join(", ")],
      [
        "merges",
        `${formatNumber(this.#merges)}; ${counted(this.#redos, "summary", "summaries")} written again`,
      ],
      [
        "no good",
        `${counted(this.#digests, "extract")} without a model, ${formatNumber(this.refused)} refused, ` +
          `${formatNumber(this.#ended.stale)} stale, ${formatNumber(this.#ended.failed)} failed`,
      ],
      ["memories", formatNumber(this.#memories)],
      ["tokens saved", saved],
    ];
  }
}
