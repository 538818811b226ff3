import assert from "node:assert/strict";
import { test } from "node:test";
import { turnId } from "../../src/core/ids.ts";
import { Pace, PACED_TURNS } from "../../src/core/pace.ts";

const turn = (id: number, at: number) => ({ id: turnId(id), at });

test("a pace is of turns, each at its first request", () => {
  const pace = new Pace([turn(1, 1000), turn(2, 4000)]);
  pace.note(turnId(3), 9000);
  pace.note(turnId(3), 9500);
  assert.deepEqual(pace.before(), { lastAt: 9000, waits: [3000, 5000] });
  assert.deepEqual(pace.before(turnId(3)), { lastAt: 4000, waits: [3000] });
  assert.deepEqual(pace.waitsUpTo(turn(3, 9600)), [3000, 5600]);
  assert.deepEqual(pace.waitsUpTo(turn(4, 9600)), [3000, 5000, 600]);
});

test("nothing is known of a new channel, and a clock that goes back makes no wait", () => {
  const pace = new Pace();
  assert.deepEqual(pace.before(), { lastAt: null, waits: [] });
  assert.deepEqual(pace.waitsUpTo(turn(1, 5)), []);
  pace.note(turnId(1), 9000);
  assert.deepEqual(pace.waitsUpTo(turn(2, 8000)), [0]);
});

test("only the newest turns count", () => {
  const pace = new Pace();
  for (let id = 1; id <= 2 * PACED_TURNS; id++) pace.note(turnId(id), id * 1000);
  assert.equal(pace.before().waits.length, PACED_TURNS - 1);
});
