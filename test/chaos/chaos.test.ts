import assert from "node:assert/strict";
import { test } from "node:test";
import { cardsFor } from "./cards.ts";
import { unreached } from "./reach.ts";
import { Report } from "./report.ts";
import { runChaos } from "./run.ts";

/** `npm run proofs` does a hundred. */
const KILLS = 4;

test("a few kills under traffic lose nothing, double nothing, change nothing that was said", async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000);
  t.diagnostic(`again: npm run chaos -- --kills ${KILLS} --seed ${seed}`);
  const report = await runChaos({ kills: KILLS, seed, isQuick: true, onLine: (line) => t.diagnostic(line) });
  assert.deepEqual(report.problems, []);
  assert.ok(report.kills >= KILLS, `${report.kills} kills`);
});

test("a run that deals a point and never comes there says so, where it is no chance", () => {
  const cards = cardsFor({ only: undefined, isQuick: false });
  const report = new Report();
  for (const { name } of cards) report.count(name, !["send.sent", "job.save"].includes(name));
  const lanes = 1;
  assert.deepEqual(unreached(cards, report.rows, { kills: cards.length - 1, lanes }), []);
  assert.match(
    unreached(cards, report.rows, { kills: cards.length, lanes }).join(),
    /^send\.sent was never [^,]*$/,
  );
  for (let deals = 1; deals < 3; deals++) report.count("job.save", false);
  assert.match(
    unreached(cards, report.rows, { kills: report.kills, lanes }).join(),
    /job\.save .* in 3 kills/,
  );
  const all = new Report();
  assert.equal(unreached(cards, all.rows, { kills: 1000, lanes: 3 }).length, cards.length);
});
