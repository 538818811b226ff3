import type { Bench, Figure, Row } from "./support/figure.ts";
import { measureArms } from "./support/arms.ts";

/** The cost of 20 s of summarising for people who talk meanwhile: nothing, or next to nothing. */
export const replyLatency: Figure = {
  name: "reply-latency",
  about: "reply latency while a 20 s summariser runs, over the same without compaction, 200 ms model",
  async run(bench: Bench): Promise<Row[]> {
    return measureArms(bench, {
      compacting: { summariser: "summary-20000" },
      filledTo: 330,
      // Four summaries are written in this time and land together: the figure includes a turn's cost of that.
      roundMs: 90_000,
      countFrom: "compaction",
      bars: { p50: 1.02, p99: 1.1 },
    });
  },
};
