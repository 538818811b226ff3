import type { Tier } from "../core/compaction.ts";
import { counted } from "../text/text.ts";
import type { WeirEvent } from "../telemetry/events.ts";

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
    if (event.phase === "started") return;
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
    const number = (value: number): string => Math.round(value).toLocaleString("en-US");
    const leaves = Object.entries(this.#leaves)
      .filter(([, count]) => count > 0)
      .map(([tier, count]) => `${number(count)} ${tier}`);
    const saved = `${number(this.#tokensBefore - this.#tokensAfter)} (about ${number(this.#tokensBefore)} became ${number(this.#tokensAfter)})`;
    return [
      ["compactions", leaves.length === 0 ? "none" : leaves.join(", ")],
      ["merges", `${number(this.#merges)}; ${counted(this.#redos, "summary", "summaries")} written again`],
      [
        "no good",
        `${counted(this.#digests, "extract")} without a model, ${number(this.refused)} refused, ` +
          `${number(this.#ended.stale)} stale, ${number(this.#ended.failed)} failed`,
      ],
      ["memories", number(this.#memories)],
      ["tokens saved", saved],
    ];
  }
}
