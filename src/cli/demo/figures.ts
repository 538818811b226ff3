import type { Tier } from "../../core/compaction.ts";
import type { WeirEvent } from "../../telemetry/events.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";

/** Counts what happens, for the end. */
export class Figures {
  readonly #leaves: Record<Tier, number> = { background: 0, aggressive: 0, emergency: 0, forced: 0 };
  readonly #asked = new Map<string, number>();
  #merges = 0;
  #emergencies = 0;
  #answered = 0;
  #longestMs = 0;
  #highest = 0;

  event(event: WeirEvent): void {
    if (event.type === "emergency") this.#emergencies++;
    if (event.type !== "compaction" || event.phase !== "committed") return;
    if (event.kind === "leaf") this.#leaves[event.tier]++;
    if (event.kind === "merge") this.#merges++;
  }

  level(usage: number): void {
    this.#highest = Math.max(this.#highest, usage);
  }

  asked(messageId: string): void {
    this.#asked.set(messageId, performance.now());
  }

  answered(messageIds: readonly string[]): void {
    for (const id of messageIds) {
      const since = this.#asked.get(id);
      if (since === undefined) continue;
      this.#answered++;
      this.#longestMs = Math.max(this.#longestMs, performance.now() - since);
    }
  }

  /**
   * The table at the end.
   * @param counts.said messages that the log has acknowledged @param counts.lost those of them that it does not have
   */
  table(counts: { readonly said: number; readonly lost: number; readonly memories: number }): string {
    const leaves = Object.entries(this.#leaves)
      .filter(([, count]) => count > 0)
      .map(([tier, count]) => `${formatNumber(count)} ${tier}`);
    const seconds = (this.#longestMs / 1000).toFixed(2);
    const asked = this.#asked.size;
    const rows = [
      ["messages", `${formatNumber(counts.said)} said, ${formatNumber(counts.lost)} lost`],
      ["answers", `${formatNumber(this.#answered)} of ${formatNumber(asked)}, longest wait ${seconds} s`],
      ["summaries", `${leaves.join(", ") || "none"}; ${counted(this.#merges, "merge")} of older ones`],
      ["window", `${Math.round(this.#highest * 100)} % at most, with what was out of view`],
      ["emergencies", formatNumber(this.#emergencies)],
      ["memories", `${formatNumber(counts.memories)}, each with the messages that prove it`],
    ] as const;
    return rows.map(([name, value]) => `  ${name.padEnd(12)}${value}`).join("\n");
  }
}
