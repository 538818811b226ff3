import { type Anchor, isTelling, type ReportedUsage } from "../core/calibration.ts";
import type { ModelCallRecord } from "../llm/model.ts";

/** The last request of a channel that a provider has counted: what comes after it is all that has to be estimated. */
export class UsageAnchor {
  #last: ReportedUsage | null;

  /** @param last what the log knows of an earlier run */
  constructor(last: ReportedUsage | null) {
    this.#last = last !== null && isTelling(last) ? last : null;
  }

  /** The anchor for requests to this model; null where another one counted last: its tokens are not comparable. */
  of(model: string): Anchor | null {
    return this.#last?.model === model ? this.#last : null;
  }

  /** Takes note of a call whose request was estimated so. */
  note({ model, outcome, usage }: ModelCallRecord, estimated: number): void {
    // A request that we thought would fit was too long: the count that we relied on does not hold.
    if (outcome === "context_length") this.#last = null;
    if (outcome !== "answered" || usage === undefined) return;
    const report = { model, estimated, reported: usage.promptTokens };
    if (isTelling(report)) this.#last = report;
  }
}
