import assert from "node:assert/strict";
import path from "node:path";
import { suite, test, type TestContext } from "node:test";
import { growthOf, lineOf, tableOf } from "./report.ts";
import { runSoak, type SoakOptions } from "./run.ts";

/** Five seconds are all warming up: what is compiled and filled meanwhile is no leak, and a leak is far more. */
const SHORT = {
  seconds: 5,
  pace: 6,
  rooms: 2,
  sampleEverySeconds: 0.35,
  fewest: { samples: 12, said: 21, faults: 3 },
  settlingFactor: 5,
};

suite("a short soak", () => {
  test("of a daemon with faults finds each question answered once, and nothing that grows", async (t) => {
    const seed = Math.floor(Math.random() * 1_000_000);
    const report = await runSoak({ ...SHORT, seed, faultEverySeconds: 0.5, onSample: told(t) });
    for (const line of tableOf(report)) t.diagnostic(line);
    assert.deepEqual(report.problems, [], `seed ${seed}`);
    assert.deepEqual(growthOf(report.rows), []);
    assert.ok((report.people?.said.length ?? 0) > 20 && report.faults.size > 2);
  });

  test("finds a list and a timer that are kept for each statement", async (t) => {
    const planted = path.join(import.meta.dirname, "planted-leak.ts");
    const report = await runSoak({
      ...SHORT,
      fewest: { ...SHORT.fewest, faults: 0 },
      seed: 1,
      faultEverySeconds: 0,
      planted,
      onSample: told(t),
    });
    for (const line of tableOf(report)) t.diagnostic(line);
    const grown = report.rows.filter(({ grows }) => grows).map(({ name }) => name);
    assert.ok(grown.includes("heap used"), grown.join(", "));
    assert.ok(grown.includes("timers"), grown.join(", "));
  });
});

function told(t: TestContext): SoakOptions["onSample"] {
  return (sample, faults) => t.diagnostic(lineOf(sample, faults, SHORT.seconds));
}
