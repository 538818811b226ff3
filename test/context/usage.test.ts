import { keepTokens } from "../../src/context/keep.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { assemble } from "../../src/context/assemble.ts";
import { fitContext } from "../../src/context/emergency.ts";
import {
  type Budget,
  keptForRecall,
  MOST_RECALLED,
  partAt,
  tokenBudgetAt,
  usableTokens,
  usageOf,
} from "../../src/context/usage.ts";
import type { AgentConfig } from "../../src/config/config.ts";
import { type Calibration, realTokens } from "../../src/core/calibration.ts";
import { summariesOf } from "../compactor/channel.ts";
import { budgetOf, sourcesOf } from "./agent.ts";
import { anySteps, Conversation } from "./conversation.ts";

function calibrated(window: number, reserve: number, calibration: Calibration): Budget {
  return { ...budgetOf(window, reserve), calibration };
}

const dear: Calibration = { factor: 2, anchor: { estimated: 1000, reported: 1800 } };

describe("the room of a budget", () => {
  test("is the share of the usable window where nothing was reported", () => {
    const budget = budgetOf(10_000, 2000);
    assert.equal(tokenBudgetAt(budget, 0.5), 4000);
    assert.equal(partAt(budget, 0.5), 4000);
  });

  test("begins at the anchor for a whole request, and goes by the factor for a part of one", () => {
    const budget = calibrated(10_000, 2000, dear);
    assert.equal(tokenBudgetAt(budget, 0.5), 1000 + (4000 - 1800) / 2);
    assert.equal(partAt(budget, 0.5), 2000);
    assert.equal(usableTokens(budget), 8000, "what people see is in the model's own tokens");
  });

  test("keeps a tenth of the window raw, in a small one more, and in a large one less", () => {
    assert.equal(keepTokens(budgetOf(100_000, 20_000)), 3000);
    assert.equal(keepTokens(budgetOf(22_000, 2000)), 2000);
    assert.equal(keepTokens(budgetOf(8000, 2000)), 1000);
    assert.equal(keepTokens(budgetOf(2000, 1000)), 400);
  });
});

describe("usage", () => {
  const talk = new Conversation();
  talk.say("@bot well?", { addressed: true });
  talk.begin();
  const [seen] = talk.seen;
  assert.ok(seen !== undefined);
  const context = assemble(sourcesOf(seen));

  test("is what was reported over the usable window, what is omitted counted on top", () => {
    const anchor = { estimated: context.tokens, reported: 2000 };
    const budget = calibrated(10_000, 2000, { factor: 2, anchor });
    assert.equal(usageOf(context, seen.history, budget), 0.25);
    const at = new Date(0);
    const omission = { fromSeq: 1, toSeq: 9, count: 9, tokens: 1000, firstAt: at, lastAt: at };
    assert.equal(usageOf(context, { ...seen.history, omission }, budget), 0.5);
  });
});

describe("a context fitted by what the model counts", () => {
  const budgets = fc
    .record({
      usable: fc.integer({ min: 4000, max: 30_000 }),
      factor: fc.double({ min: 0.5, max: 2, noNaN: true }),
      anchor: fc.option(
        fc.record({
          estimated: fc.integer({ min: 900, max: 40_000 }),
          ratio: fc.double({ min: 0.4, max: 2, noNaN: true }),
        }),
      ),
    })
    .map(({ usable, factor, anchor: seen }) => {
      const anchor = seen && {
        estimated: seen.estimated,
        reported: Math.round(seen.estimated * seen.ratio),
      };
      return calibrated(usable + 2000, 2000, { factor, anchor });
    });

  test("takes no more real tokens than the usable window has, whatever came in", () => {
    fc.assert(
      fc.property(anySteps({ maxLength: 60, longest: 20_000 }), budgets, (steps, budget) => {
        for (const seen of new Conversation().run(steps).seen) {
          const fit = fitContext(sourcesOf(seen), budget);
          const real = realTokens(fit.context.tokens, budget.calibration);
          assert.equal(fit.overflows, real > usableTokens(budget) + 1e-6, `${real}`);
          if (fit.omitTo === null) continue;
          const { tokensBefore } = fit;
          assert.ok(
            usageAt(tokensBefore, budget) >= budget.emergencyThreshold - 1e-9,
            "only in an emergency",
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});

function usageAt(estimated: number, budget: Budget): number {
  return realTokens(estimated, budget.calibration) / usableTokens(budget);
}

describe("what is kept free for recall", () => {
  const [summary] = summariesOf([1]);
  assert.ok(summary !== undefined);
  const covered = { coveredTo: 10, omittedTo: 0, summaries: [summary] };
  const keptIn = (
    window: number,
    history = covered,
    recall: AgentConfig["memory"]["recall"] = "all",
  ): number => keptForRecall({ recall }, history, () => budgetOf(window, 0));

  test("is 15 % of the usable window, up to a bound", () => {
    assert.equal(keptIn(16_000), Math.floor(partAt(budgetOf(16_000, 0), 0.15)));
    assert.equal(keptIn(3000), 450);
    assert.equal(keptIn(128_000), MOST_RECALLED);
  });

  test("is nothing where there is nothing to recall, or messages are not recalled", () => {
    assert.equal(keptIn(16_000, { ...covered, coveredTo: 0, summaries: [] }), 0);
    assert.ok(keptIn(16_000, { coveredTo: 0, omittedTo: 3, summaries: [] }) > 0);
    const reset = { ...summary, kind: "reset" as const, text: "" };
    assert.equal(keptIn(16_000, { ...covered, summaries: [reset] }), 0, "nothing before a reset is recalled");
    assert.equal(keptIn(16_000, covered, "off"), 0);
    assert.equal(keptIn(16_000, covered, "memories"), 0);
    assert.ok(keptIn(16_000, covered, "messages") > 0);
  });
});
