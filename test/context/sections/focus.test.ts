import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { focusOf, raiseOf } from "../../../src/context/sections/focus.ts";
import { anyText } from "../conversation.ts";
import { cpuMs } from "../../support/cpu-time.ts";

describe("the focus of a request", () => {
  test("names files, names of code, and what is to be done", () => {
    const focus = focusOf([
      "earlier: see docs/watch.md",
      "Please fix `chooseCut` in src/compactor/cut.ts, then check HistoryMutex and config.agents.main",
    ]);
    assert.deepEqual(focus.paths, ["docs/watch.md", "src/compactor/cut.ts"]);
    assert.deepEqual(focus.symbols, ["chooseCut", "HistoryMutex", "config.agents.main"]);
    assert.deepEqual(focus.signals, ["change", "verify"]);
    assert.match(focus.summary, /^Please fix `chooseCut`/);
  });

  test("is nothing for small talk", () => {
    const { paths, symbols, signals } = focusOf(["good morning everybody, how are you?"]);
    assert.deepEqual([paths, symbols, signals], [[], [], []]);
  });

  test("keeps to its bounds, whatever is said, and in time", () => {
    fc.assert(
      fc.property(fc.array(anyText(400), { maxLength: 5 }), (texts) => {
        const { summary, paths, symbols } = focusOf(texts);
        assert.ok(
          Array.from(summary).length <= 160 && summary.isWellFormed() === texts.join("").isWellFormed(),
        );
        assert.ok(paths.length <= 6 && symbols.length <= 8);
      }),
    );
    for (const piece of ["a/", "a.", "aA", "`", "A.a/", "-", "a_"]) {
      const ms = cpuMs(() => void focusOf([piece.repeat(100_000)]));
      assert.ok(ms < 2000, `${piece}: ${ms} ms`);
    }
  });

  test("raises by twelve at most, and says for what", () => {
    const focus = focusOf(["plan the change of `alpha` `beta` `gamma` in src/a.ts and src/b.ts"]);
    const { raise, evidence } = raiseOf("alpha beta gamma src/a.ts src/b.ts", focus, ["plan"]);
    assert.equal(raise, 12);
    assert.deepEqual(evidence, ["src/a.ts", "src/b.ts", "alpha", "beta", "gamma", "plan"]);
    assert.deepEqual(raiseOf("only alpha", focus, []), { raise: 4, evidence: ["alpha"] });
    assert.deepEqual(raiseOf("nothing of it", focus, []), { raise: 0, evidence: [] });
  });
});
