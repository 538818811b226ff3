import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { gaugeRows } from "../../src/text/gauge.ts";

describe("a bar in characters", () => {
  test("has its marks below it, where no filling hides them", () => {
    const marks = [
      { label: "a", share: 0.5 },
      { label: "b", share: 0.9 },
    ];
    assert.deepEqual(gaugeRows({ share: 0.7, marks }, 10), { bar: "███████░░░", scale: "     ▲   ▲" });
  });

  test("is as wide as it is to be, for any share", () => {
    const share = fc.double();
    fc.assert(
      fc.property(share, fc.array(share), fc.integer({ min: 1, max: 80 }), (taken, marks, width) => {
        const shown = marks.map((at) => ({ label: "", share: at }));
        const { bar, scale } = gaugeRows({ share: taken, marks: shown }, width);
        assert.match(bar, /^█*░*$/);
        assert.equal(bar.length, width);
        assert.ok(scale.length <= width);
        assert.equal(scale.includes("▲"), marks.length > 0);
      }),
    );
  });
});
