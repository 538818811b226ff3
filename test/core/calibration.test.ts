import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import {
  type Anchor,
  type Calibration,
  estimatedRoom,
  isTelling,
  nextFactor,
  realTokens,
  UNCALIBRATED,
} from "../../src/core/calibration.ts";

const factors = fc.double({ min: 0.5, max: 4, noNaN: true });
/** Reports of all kinds, absurd ones too. */
const reports: fc.Arbitrary<Anchor> = fc.record({
  estimated: fc.nat({ max: 200_000 }),
  reported: fc.nat({ max: 2_000_000 }),
});
const calibrations: fc.Arbitrary<Calibration> = fc.record({
  factor: factors,
  anchor: fc.option(
    fc
      .tuple(fc.integer({ min: 200, max: 200_000 }), fc.double({ min: 0.4, max: 8, noNaN: true }))
      .map(([estimated, ratio]) => ({ estimated, reported: Math.round(estimated * ratio) })),
  ),
});
const sizes = fc.nat({ max: 400_000 });
/** What floating point may lose. */
const CLOSE = 1e-6;

describe("a model's factor", () => {
  test("rises at once to what was reported", () => {
    assert.equal(nextFactor(1, { estimated: 1000, reported: 1800 }), 1.8);
    assert.equal(nextFactor(0.7, { estimated: 1000, reported: 900 }), 0.9);
  });

  test("falls slowly: a tenth of the way takes more than one report, most of it a hundred", () => {
    const report = { estimated: 1000, reported: 700 };
    const first = nextFactor(1, report);
    assert.ok(first < 1 && first > 0.97, String(first));
    let factor = 1;
    for (let count = 0; count < 100; count++) factor = nextFactor(factor, report);
    assert.ok(factor > 0.7 && factor < 0.71, String(factor));
  });

  test("does not heed a tiny request, nor a report that cannot be", () => {
    assert.equal(nextFactor(1, { estimated: 50, reported: 120 }), 1);
    assert.equal(nextFactor(1, { estimated: 1000, reported: 0 }), 1);
    assert.equal(nextFactor(1, { estimated: 1000, reported: 9000 }), 1);
    // Some servers leave out what they had cached.
    assert.equal(nextFactor(1, { estimated: 10_000, reported: 120 }), 1);
    assert.equal(isTelling({ estimated: 0, reported: 0 }), false);
  });

  test("stays within its bounds, and between itself and what was seen", () => {
    fc.assert(
      fc.property(factors, reports, (factor, report) => {
        const next = nextFactor(factor, report);
        assert.ok(next >= 0.5 && next <= 4);
        if (!isTelling(report)) assert.equal(next, factor);
        else {
          const seen = Math.min(4, Math.max(0.5, report.reported / report.estimated));
          assert.ok(next >= seen - CLOSE, "never under what was seen");
          assert.ok(next <= Math.max(factor, seen));
        }
      }),
    );
  });
});

describe("the real tokens of an estimate", () => {
  test("are the estimate itself where nothing was reported", () => {
    assert.equal(realTokens(1234, UNCALIBRATED), 1234);
    assert.equal(estimatedRoom(1234, UNCALIBRATED), 1234);
  });

  test("are what was reported, and by the factor what came since", () => {
    const calibration = { factor: 1.5, anchor: { estimated: 1000, reported: 700 } };
    assert.equal(realTokens(1000, calibration), 700);
    assert.equal(realTokens(1200, calibration), 1000);
  });

  test("below the anchor are counted by the worse of both rates, but as no more than it", () => {
    const dear = { factor: 1, anchor: { estimated: 1000, reported: 1800 } };
    assert.equal(realTokens(500, dear), 900);
    const cheap = { factor: 1, anchor: { estimated: 1000, reported: 700 } };
    assert.equal(realTokens(500, cheap), 500);
    assert.equal(realTokens(990, cheap), 700, "a few tokens less never count for more");
  });

  test("rise with the estimate", () => {
    fc.assert(
      fc.property(sizes, sizes, calibrations, (a, b, calibration) => {
        const [less, more] = a < b ? [a, b] : [b, a];
        assert.ok(realTokens(less, calibration) <= realTokens(more, calibration) + CLOSE);
      }),
    );
  });

  test("are never fewer than the lower of both rates makes them", () => {
    fc.assert(
      fc.property(sizes, calibrations, (estimated, calibration) => {
        const { factor, anchor } = calibration;
        const lower = anchor === null ? factor : Math.min(factor, anchor.reported / anchor.estimated);
        assert.ok(realTokens(estimated, calibration) >= estimated * lower - CLOSE);
      }),
    );
  });
});

describe("the room for an estimate", () => {
  test("is the largest estimate that has at most so many real tokens", () => {
    fc.assert(
      fc.property(sizes, calibrations, (real, calibration) => {
        const room = estimatedRoom(real, calibration);
        assert.ok(room >= 0);
        assert.ok(realTokens(room, calibration) <= real + CLOSE);
        assert.ok(realTokens(room + 1, calibration) > real - CLOSE, "one token more is too much");
      }),
    );
  });

  test("holds exactly those estimates that fit", () => {
    fc.assert(
      fc.property(sizes, sizes, calibrations, (real, estimated, calibration) => {
        const counted = realTokens(estimated, calibration);
        const room = estimatedRoom(real, calibration);
        if (counted < real - CLOSE) assert.ok(estimated <= room + CLOSE);
        if (counted > real + CLOSE) assert.ok(estimated > room - CLOSE);
      }),
    );
  });

  test("rises with the real tokens", () => {
    fc.assert(
      fc.property(sizes, sizes, calibrations, (a, b, calibration) => {
        const [less, more] = a < b ? [a, b] : [b, a];
        assert.ok(estimatedRoom(less, calibration) <= estimatedRoom(more, calibration) + CLOSE);
      }),
    );
  });
});
