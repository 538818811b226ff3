import assert from "node:assert/strict";
import { test } from "node:test";
import { Hold } from "../../../src/platforms/discord/hold.ts";

test("what comes while it is closed waits, in order", () => {
  const seen: number[] = [];
  const see = (number: number) => (): void => void seen.push(number);
  const hold = new Hold();
  hold.pass(see(1));
  hold.pass(see(2));
  assert.equal(seen.length, 0);
  hold.open();
  hold.pass(see(3));
  hold.close();
  hold.pass(see(4));
  assert.deepEqual(seen, [1, 2, 3]);
  hold.open();
  assert.deepEqual(seen, [1, 2, 3, 4]);
});

test("too many are dropped, all of them, so that none stands behind a gap", () => {
  const seen: number[] = [];
  const see = (number: number) => (): void => void seen.push(number);
  const hold = new Hold();
  for (let index = 0; index < 10_002; index++) hold.pass(see(index));
  hold.open();
  assert.equal(seen.length, 0);
  hold.pass(see(1));
  assert.deepEqual(seen, [1]);
});
