import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnRequest } from "./chaos-model.ts";
import { isSmallerTry, problemsOfTry } from "./smaller-tries.ts";

/** A request that shows these messages, for the last of them, after these refused ones. */
function request(from: number, to: number, refused: readonly TurnRequest[] = []): TurnRequest {
  const marks = Array.from({ length: to - from + 1 }, (_, index) => `g${from + index}`);
  const lines = marks.map((mark) => `[2026-11-30 10:00] Ann: ${mark} the river stood high.`);
  return {
    channel: "terminal:one",
    at: 0,
    firstAt: 0,
    session: 1,
    tools: "[]",
    system: "",
    summaries: [],
    raw: lines,
    lines,
    rawLines: lines.length,
    bytes: lines.join("\n"),
    size: lines.join("\n").length,
    isRefused: true,
    refused,
  };
}

const whole = request(1, 9);
const smaller = request(5, 9, [whole]);

test("a request that begins later than the refused one for the same message is a smaller try", () => {
  assert.equal(isSmallerTry(whole), false);
  assert.equal(isSmallerTry(smaller), true);
  assert.deepEqual(problemsOfTry(smaller), []);
});

test("so is the next one, also where it begins as the last one did", () => {
  const size = smaller.size - 1;
  for (const next of [
    request(7, 9, [whole, smaller]),
    { ...request(5, 9, [whole, smaller]), size, bytes: "less is recalled" },
  ]) {
    assert.equal(isSmallerTry(next), true);
    assert.deepEqual(problemsOfTry(next), []);
  }
});

test("a request that begins as the first one did shows the view", () => {
  assert.equal(isSmallerTry(request(1, 9, [whole])), false);
  assert.equal(isSmallerTry(request(1, 9, [whole, smaller])), false);
});

test("so does one that begins with a line without a mark", () => {
  const lines = ["[2026-11-30 09:59] Ann: (no words)", ...whole.lines];
  const again = { ...whole, lines, rawLines: lines.length, refused: [{ ...whole, lines }] };
  assert.equal(isSmallerTry(again), false);
  assert.deepEqual(problemsOfTry(again), []);
});

test("so does one whose summaries are others: a landing has moved the view between two beginnings of a turn", () => {
  const moved = { ...smaller, summaries: ["[Compaction Summary]: S1# they read the gauge"] };
  assert.equal(isSmallerTry(moved), false);
  assert.deepEqual(problemsOfTry({ ...moved, refused: [whole, moved] }), []);
  assert.equal(isSmallerTry({ ...moved, refused: [{ ...whole, summaries: moved.summaries }] }), true);
});

test("a request for another message shows the view, whatever was refused before it", () => {
  assert.equal(isSmallerTry(request(5, 10, [whole])), false);
  assert.equal(isSmallerTry(request(7, 10, [whole, smaller])), false);
  const next = request(1, 10, [whole, smaller]);
  assert.equal(isSmallerTry(request(5, 10, [whole, smaller, next])), true);
});

test("a smaller try that is larger than the refused one, or the same, is a problem", () => {
  const larger = { ...request(7, 9, [whole, smaller]), size: smaller.size + 1 };
  assert.match(problemsOfTry(larger).join(), /^a try of \d+ characters came in place of/);
  assert.match(problemsOfTry(request(5, 9, [whole, smaller])).join(), /sent again as it was$/);
});
