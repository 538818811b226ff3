import type { Bench, Figure, Row } from "./support/figure.ts";
import { measureArms } from "./support/arms.ts";

/** A summariser that never answers, and a window that fills up: the emergency keeps every reply coming. */
export const silentSummariser: Figure = {
  name: "silent-summariser",
  about: "reply latency with a summariser that never answers, through emergency, 200 ms model",
  async run(bench: Bench): Promise<Row[]> {
    return measureArms(bench, {
      compacting: { summariser: "summary-never", window: 24_576 },
      filledTo: 330,
      roundMs: 19_000,
      countFrom: "start",
      bars: { p50: 1.1, p99: 1.1 },
    });
  },
};
