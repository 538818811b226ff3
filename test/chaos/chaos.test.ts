import assert from "node:assert/strict";
import { test } from "node:test";
import { runChaos } from "./run.ts";

test("ten kills under traffic lose nothing, double nothing, change nothing that was said", async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000);
  t.diagnostic(`again: npm run chaos -- --kills 10 --seed ${seed}`);
  const report = await runChaos({ kills: 10, seed, isQuick: true, onLine: (line) => t.diagnostic(line) });
  assert.deepEqual(report.problems, []);
  assert.ok(report.kills >= 10, `${report.kills} kills`);
});
