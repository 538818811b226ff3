import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { type LadderState, nextStep } from "../../src/compactor/ladder.ts";

const LEAF = { kind: "leaf", tier: "background", fromSeq: 1, toSeq: 100 } as const;
const FIRST: LadderState = {
  plan: LEAF,
  halved: 0,
  attempts: 1,
  modelsLeft: 1,
  mustProgress: false,
  failure: "refused",
};

describe("what to try after an attempt has failed", () => {
  const merge = { ...LEAF, kind: "merge" } as const;
  const rows: readonly (readonly [what: string, state: Partial<LadderState>, step: string])[] = [
    ["refused: half the range", {}, "half"],
    ["refused again: half of that", { halved: 1, attempts: 2 }, "half"],
    ["refused a third time: another model", { halved: 2, attempts: 3 }, "other_model"],
    ["refused by all models", { halved: 2, modelsLeft: 0, attempts: 4 }, "give_up"],
    ["refused by all models, from aggressive up", { halved: 2, modelsLeft: 0, mustProgress: true }, "digest"],
    ["a few entries are not halved", { plan: { ...LEAF, toSeq: 4 } }, "other_model"],
    ["five are", { plan: { ...LEAF, toSeq: 5 } }, "half"],
    ["an omitted range is covered whole", { plan: { ...LEAF, tier: "emergency" } }, "other_model"],
    ["a merge has no half", { plan: merge }, "other_model"],
    ["nor has a redo", { plan: { ...LEAF, kind: "redo" }, modelsLeft: 0 }, "give_up"],
    ["a merge where no summary fits", { plan: merge, modelsLeft: 0, mustProgress: true }, "digest"],
    ["nobody there: background waits", { failure: "unavailable" }, "give_up"],
    ["nobody there: what cannot wait is extracted", { failure: "unavailable", mustProgress: true }, "digest"],
    ["too slow: once more", { failure: "deadline" }, "again"],
    ["too slow again", { failure: "deadline", attempts: 2 }, "give_up"],
    [
      "too slow again, from aggressive up",
      { failure: "deadline", attempts: 2, mustProgress: true },
      "digest",
    ],
  ];
  for (const [what, state, step] of rows) {
    test(what, () => assert.deepEqual(nextStep({ ...FIRST, ...state }), { do: step }));
  }

  test("it ends after a few steps, whatever fails, and in a digest exactly where it must progress", () => {
    const inputs = fc.record({
      failures: fc.infiniteStream(fc.constantFrom("refused", "unavailable", "deadline")),
      models: fc.nat({ max: 5 }),
      mustProgress: fc.boolean(),
      kind: fc.constantFrom("leaf", "merge", "redo"),
      tier: fc.constantFrom("background", "aggressive", "emergency", "forced"),
      entries: fc.integer({ min: 1, max: 1000 }),
    });
    fc.assert(
      fc.property(inputs, ({ failures, models, mustProgress, kind, tier, entries }) => {
        const tried = { halved: 0, modelsLeft: models };
        let toSeq = entries;
        let last = "";
        let attempts = 0;
        for (const failure of failures) {
          attempts++;
          const step = nextStep({
            plan: { kind, tier, fromSeq: 1, toSeq },
            ...tried,
            attempts,
            mustProgress,
            failure,
          });
          last = step.do;
          if (last === "digest" || last === "give_up") break;
          if (last === "half") {
            tried.halved++;
            toSeq = Math.ceil(toSeq / 2);
          }
          if (last === "other_model") tried.modelsLeft--;
          assert.ok(tried.modelsLeft >= 0);
          // The first attempt, two halves, every other model, one more after a deadline.
          assert.ok(attempts <= 4 + models);
        }
        assert.equal(last, mustProgress ? "digest" : "give_up");
      }),
    );
  });
});
