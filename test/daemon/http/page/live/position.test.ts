import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatPosition,
  parsePosition,
  positionAt,
} from "../../../../../src/daemon/http/page/live/position.ts";

test("a position is read as it was written, and nothing else is one", () => {
  const position = { seq: 120, settledTo: 118, changes: 3 };
  assert.deepEqual(parsePosition(formatPosition(position)), position);
  for (const wrong of [
    "",
    "1",
    "1-2",
    "1-2-3-4",
    "a-1-1",
    "-1-1-1",
    "1.5-1-1",
    `1-1-${"9".repeat(16)}`,
    "1-1-1\n",
  ])
    assert.equal(parsePosition(wrong), null, wrong);
});

test("after each row a cut stream resumes behind it, and what waited before is sent again", () => {
  const before = { seq: 10, settledTo: 8, changes: 3 };
  const known = { settledTo: 12 };
  assert.deepEqual(positionAt(before, 9, known), { seq: 10, settledTo: 9, changes: 3 });
  assert.deepEqual(positionAt(before, 11, known), { seq: 11, settledTo: 11, changes: 3 });
  assert.deepEqual(positionAt(before, 13, known), { seq: 13, settledTo: 12, changes: 3 });
});
