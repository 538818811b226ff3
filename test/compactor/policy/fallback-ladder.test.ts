import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { type FallbackState, nextStep } from "../../../src/compactor/policy/fallback-ladder.ts";

const LEAF = { kind: "leaf", tier: "background", fromSeq: 1, toSeq: 100 } as const;
const FIRST: FallbackState = {
  plan: LEAF,
  halved: 0,
  attempts: 1,
  modelsLeft: 1,
  mustProgress: false,
  refusedBefore: 0,
  failure: "refused",
};
const MERGE = { ...LEAF, kind: "merge" } as const;
const REDO = { ...LEAF, kind: "redo" } as const;
const ROWS: readonly (readonly [what: string, state: Partial<FallbackState>, step: string])[] = [
  ["refused: half the range", {}, "half"],
  ["refused again: half of that", { halved: 1, attempts: 2 }, "half"],
  ["refused a third time: another model", { halved: 2, attempts: 3 }, "other_model"],
  ["refused by all models", { halved: 2, modelsLeft: 0, attempts: 4 }, "give_up"],
  ["refused by all models, from aggressive up", { halved: 2, modelsLeft: 0, mustProgress: true }, "digest"],
  ["a few entries are not halved", { plan: { ...LEAF, toSeq: 4 } }, "other_model"],
  ["five are", { plan: { ...LEAF, toSeq: 5 } }, "half"],
  ["an omitted range is covered whole", { plan: { ...LEAF, tier: "emergency" } }, "other_model"],
  ["a merge has no half", { plan: MERGE }, "other_model"],
  ["nor has a redo", { plan: REDO, modelsLeft: 0 }, "give_up"],
  [
    "a redo that was refused before, and before that: its extract stays",
    { plan: REDO, modelsLeft: 0, refusedBefore: 2 },
    "final digest",
  ],
  [
    "one that a person asked for leaves the summary as it is, however often",
    { plan: { ...REDO, tier: "forced" }, modelsLeft: 0, refusedBefore: 9 },
    "give_up",
  ],
  ["not before every model has refused it", { plan: REDO, refusedBefore: 2 }, "other_model"],
  ["nor while nobody is there", { plan: REDO, refusedBefore: 9, failure: "unavailable" }, "give_up"],
  ["a merge where no summary fits", { plan: MERGE, modelsLeft: 0, mustProgress: true }, "digest"],
  ["nobody there: background waits", { failure: "unavailable" }, "give_up"],
  ["nobody there: what cannot wait is extracted", { failure: "unavailable", mustProgress: true }, "digest"],
  ["too slow: once more", { failure: "deadline" }, "again"],
  ["too slow again", { failure: "deadline", attempts: 2 }, "give_up"],
  ["too slow again, from aggressive up", { failure: "deadline", attempts: 2, mustProgress: true }, "digest"],
];

describe("what to try after an attempt has failed", () => {
  for (const [what, state, step] of ROWS) {
    test(what, () => {
      const next = nextStep({ ...FIRST, ...state });
      assert.equal(next.do === "digest" && next.isFinal ? "final digest" : next.do, step);
    });
  }

  test("it ends after a few steps, whatever fails, and in a digest exactly where it must progress or is hopeless", () => {
    const inputs = fc.record({
      failures: fc.infiniteStream(fc.constantFrom("refused", "unavailable", "deadline")),
      models: fc.nat({ max: 5 }),
      mustProgress: fc.boolean(),
      kind: fc.constantFrom("leaf", "merge", "redo"),
      tier: fc.constantFrom("background", "aggressive", "emergency", "forced"),
      entries: fc.integer({ min: 1, max: 1000 }),
      refusedBefore: fc.nat({ max: 3 }),
    });
    fc.assert(
      fc.property(inputs, ({ failures, models, mustProgress, kind, tier, entries, refusedBefore }) => {
        const tried = { halved: 0, modelsLeft: models };
        let toSeq = entries;
        let last = "";
        let isHopeless = false;
        let attempts = 0;
        for (const failure of failures) {
          attempts++;
          isHopeless = kind === "redo" && tier !== "forced" && refusedBefore >= 2 && failure === "refused";
          const step = nextStep({
            plan: { kind, tier, fromSeq: 1, toSeq },
            ...tried,
            attempts,
            mustProgress,
            refusedBefore,
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
        assert.equal(last, mustProgress || isHopeless ? "digest" : "give_up");
      }),
    );
  });
});
