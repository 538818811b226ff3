import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { tokenBudgetAt, usableTokens } from "../../src/context/usage.ts";
import { contextRequest } from "../../src/core/context-request.ts";
import { MAX_LIVE_SUMMARIES } from "../../src/core/compaction.ts";
import { agentId } from "../../src/core/ids.ts";
import type { Outcome } from "../../src/tune/tally.ts";
import type { History } from "../../src/core/history.ts";
import { budgetOf } from "../../src/turn/agent.ts";
import { assertPaired } from "../context/agent.ts";
import { anySteps, Conversation } from "../context/conversation.ts";
import { agentWith, play, simulationOf, type Spoken, spokenBy, type Tried } from "./channel.ts";

const rules = fc
  .record({
    enabled: fc.constantFrom(true, true, true, false),
    writeAhead: fc.boolean(),
    keepMessages: fc.integer({ min: 1, max: 30 }),
    maxRawMessages: fc.integer({ min: 10, max: 300 }),
    maxRawTokens: fc.integer({ min: 1000, max: 16_000 }),
    backgroundThreshold: fc.double({ min: 0.6, max: 0.8, noNaN: true }),
    below: fc.double({ min: 0.05, max: 0.3, noNaN: true }),
  })
  .map(({ below, ...rest }) => ({ ...rest, target: rest.backgroundThreshold - below }));
const tried: fc.Arbitrary<Tried> = fc.record({ window: fc.integer({ min: 6000, max: 16_000 }), rules });

/** I1: every entry that has come is in exactly one place. */
function assertTiles(history: History): void {
  let covered = 0;
  for (const { fromSeq, toSeq } of history.summaries) {
    assert.equal(fromSeq, covered + 1, "summaries tile");
    covered = toSeq;
  }
  assert.equal(history.coveredTo, covered);
  const first = Math.max(covered, history.omittedTo) + 1;
  assert.deepEqual(
    history.entries.map(({ seq }) => seq),
    Array.from({ length: history.lastSeq - first + 1 }, (_, index) => first + index),
  );
  const { omission } = history;
  if (omission !== null)
    assert.deepEqual([omission.fromSeq, omission.toSeq], [covered + 1, history.omittedTo]);
  assert.ok(history.summaries.filter(({ kind }) => kind !== "reset").length <= MAX_LIVE_SUMMARIES);
}

describe("a channel that is played with any settings", () => {
  test("has each entry in one place, never uncovers one, and sends what fits and is paired", () => {
    const inputs = fc.record({
      tried,
      steps: anySteps({ maxLength: 150, longest: 2500 }),
      seconds: fc.constantFrom(0, 20, 600, 86_400),
      reset: fc.nat({ max: 200 }),
    });
    fc.assert(
      fc.property(inputs, ({ tried: settings, steps, seconds, reset }) => {
        const spoken = spokenBy(new Conversation().run(steps));
        const agent = agentWith(settings);
        const budget = budgetOf(agent, "m");
        // A reset ends the turn that runs: no turn goes on behind it.
        const isBetween = spoken.turns.every(
          ({ turn }) => reset < turn.fromSeq || reset >= (turn.lastSeq ?? turn.toSeq),
        );
        let covered = 0;
        let omitted = 0;
        const simulation = simulationOf(settings, {
          summariserMs: seconds * 1000,
          resets: reset > 0 && isBetween ? [reset] : [],
          onRequest({ context, overflows, history }) {
            assertTiles(history);
            assert.ok(overflows || context.tokens < tokenBudgetAt(budget, budget.emergencyThreshold));
            assertPaired(contextRequest(context).messages);
          },
        });
        play(simulation, spoken, () => {
          const { history } = simulation;
          assertTiles(history);
          assert.ok(history.coveredTo >= covered && history.omittedTo >= omitted);
          covered = history.coveredTo;
          omitted = history.omittedTo;
        });
        const { outcome } = simulation;
        assert.equal(outcome.entries, spoken.entries.length);
        assert.equal(simulation.history.lastSeq, spoken.entries.length);
        assert.ok(outcome.tokens.inPrefix <= outcome.tokens.sent);
        assert.ok(outcome.tokens.largest <= usableTokens(budget));
        if (settings.rules?.enabled === false) assert.equal(outcome.compactions.commits, 0);
      }),
      { numRuns: 60 },
    );
  });
});

/** Messages of about 60 tokens, every tenth of which is answered. */
function talk(messages: number): Spoken {
  const conversation = new Conversation();
  for (let index = 1; index <= messages; index++) {
    const isAsked = index % 10 === 0;
    conversation.say(
      `gauge ${index}: the river stood above the old mark by the mill, and the gate was mended. `.repeat(2),
      {
        addressed: isAsked,
      },
    );
    if (!isAsked) continue;
    conversation.begin();
    conversation.settle("answer", "It is written down in the green book.");
  }
  return spokenBy(conversation);
}

describe("what a simulated channel tells", () => {
  test("is that a small window needs more summaries, and a large one sends more", () => {
    const spoken = talk(1000);
    const [small, large] = [simulationOf({ window: 8192 }), simulationOf({ window: 32_768 })];
    play(small, spoken);
    play(large, spoken);
    assert.equal(small.outcome.requests, 100);
    assert.equal(large.outcome.requests, 100);
    assert.ok(small.outcome.compactions.commits > large.outcome.compactions.commits);
    assert.ok(small.outcome.tokens.mean < large.outcome.tokens.mean);
    assert.ok(small.outcome.compactions.landed > 0 && small.outcome.compactions.merges > 0);
    assert.equal(small.outcome.emergencies.omissions, 0);
  });

  // The largest fixed part with which an agent may start is 45 % of the usable window; that of the default agent is 1,250 tokens.
  for (const [usable, toolTokens] of [
    [3072, 0],
    [6144, 1300],
    [14_336, 5000],
    [30_000, 12_000],
  ] as const) {
    test(`is that ${usable} usable tokens with ${toolTokens} more of tools need no emergency`, () => {
      const simulation = simulationOf({ window: usable + 1024, toolTokens });
      play(simulation, talk(600));
      const { emergencies, compactions } = simulation.outcome;
      assert.equal(emergencies.omissions, 0);
      assert.ok(compactions.background >= compactions.aggressive, JSON.stringify(compactions));
    });
  }

  test("is that turns of other agents send no request of this one, and settle what they have answered", () => {
    const { entries, turns } = talk(200);
    const by = turns.map((one, index) =>
      index % 2 === 0 ? one : { ...one, turn: { ...one.turn, agent: agentId("guest") } },
    );
    const [all, own] = [simulationOf({ window: 8192 }), simulationOf({ window: 8192 })];
    play(all, { entries, turns });
    play(own, { entries, turns: by });
    const counted = ({ turns: number, turnsOfOthers, requests }: Outcome): number[] => [
      number,
      turnsOfOthers,
      requests,
    ];
    assert.deepEqual(counted(all.outcome), [20, 0, 20]);
    assert.deepEqual(counted(own.outcome), [10, 10, 10]);
    assert.ok(own.outcome.tokens.sent < all.outcome.tokens.sent * 0.7);
    assert.equal(own.history.settledTo, all.history.settledTo);
  });

  test("is that a slow summariser leaves messages out, and summaries bring them back", () => {
    const spoken = talk(1000);
    const simulation = simulationOf({ window: 8192 }, { summariserMs: 6 * 3_600_000 });
    play(simulation, spoken);
    const { emergencies, compactions } = simulation.outcome;
    assert.ok(
      emergencies.omissions > 0 && emergencies.turns > 0 && emergencies.most > 0,
      JSON.stringify(emergencies),
    );
    assert.ok(compactions.emergency > 0);
    assert.equal(simulation.history.omission, null, "at the end all is covered");
  });
});

describe("what a simulated channel tells of its requests", () => {
  test("is what a turn saw: summaries, what was left out, and what is raw, without a gap", () => {
    const spoken = talk(1000);
    for (const summariserMs of [60_000, 6 * 3_600_000]) {
      const simulation = simulationOf({ window: 8192 }, { summariserMs, at: { seq: 500 } });
      play(simulation, spoken);
      const { visible } = simulation;
      assert.ok(visible !== null && visible.toSeq >= 500 && visible.toSeq < 515);
      let last = 0;
      for (const { fromSeq, toSeq } of visible.ranges) {
        assert.equal(fromSeq, last + 1);
        last = toSeq;
      }
      assert.equal(last, visible.toSeq);
      assert.equal(visible.ranges.at(-1)?.kind, "raw");
      assert.ok(visible.ranges.some(({ kind }) => kind === "summary"));
    }
  });

  test("counts as prefix what the request before had in the same place", () => {
    const spoken = talk(20);
    const simulation = simulationOf({ window: 32_768 });
    play(simulation, spoken);
    const { tokens, requests } = simulation.outcome;
    assert.equal(requests, 2);
    // The second has all of the first but for the part that changes with each turn, and as much again.
    assert.ok(
      tokens.inPrefix > 0.5 * (tokens.sent - tokens.largest) &&
        tokens.inPrefix < tokens.sent - tokens.largest,
    );
    const paid = tokens.sent - tokens.inPrefix + 0.1 * tokens.inPrefix;
    assert.ok(Math.abs(tokens.atFullPrice - paid) <= 1);
  });

  test("is as exact in a view of thousands of entries, give or take a few of them", () => {
    const long = { writeAhead: false, maxRawMessages: 1500, maxRawTokens: 100_000_000 };
    const spoken = talk(1800);
    const simulation = simulationOf({ window: 1_000_000, rules: long }, { summariserMs: 0 });
    let first = 0;
    play(simulation, spoken, () => {
      if (first === 0 && simulation.history.coveredTo > 0) first = simulation.history.lastSeq;
    });
    assert.ok(first > 1500 && first <= 1506, `covered at ${first}`);
  });

  test("is the same however often it is played", () => {
    const spoken = talk(300);
    const [first, second] = [simulationOf({}), simulationOf({})];
    play(first, spoken);
    play(second, spoken);
    assert.deepEqual(first.outcome, second.outcome);
  });
});
