import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonToGiveUp, restBefore } from "../../../src/channel/turns/turn-attempts.ts";

test("a turn is given up for its own failures, or for very many ends of processes", () => {
  assert.equal(reasonToGiveUp({ deaths: 9, failures: 2 }), null);
  assert.match(reasonToGiveUp({ deaths: 10, failures: 0 }) ?? "", /10 processes/);
  assert.match(reasonToGiveUp({ deaths: 0, failures: 3 }) ?? "", /3 times by itself/);
});

test("a turn that processes ended over waits longer each time, and not before it is given up", () => {
  const waits = Array.from({ length: 11 }, (_, deaths) => restBefore(deaths));
  assert.deepEqual(waits, [0, 0, 0, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 0]);
});
