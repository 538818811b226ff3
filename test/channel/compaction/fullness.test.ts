import assert from "node:assert/strict";
import { test } from "node:test";
import { mayBeFull } from "../../../src/channel/compaction/compaction-target.ts";
import type { History, Summary } from "../../../src/core/history.ts";
import { rawHistory } from "../../compactor/channel.ts";

// Ten messages of 20 tokens.
const history = rawHistory(10);
const known = {
  everyRequest: 500,
  room: () => 2000,
  summaries: () => ({ summaryCap: 40, summaryRoom: 560 }),
  ahead: null,
  maxRawMessages: 300,
  maxRawTokens: Number.POSITIVE_INFINITY,
};

function summary(fromSeq: number, more: Partial<Summary> = {}): Summary {
  return {
    fromSeq,
    toSeq: fromSeq,
    level: 1,
    kind: "model",
    span: null,
    text: "told",
    tokens: 10,
    needsRedo: false,
    ...more,
  };
}

function covered(summaries: readonly Summary[]): History {
  return { ...history, summaries };
}

test("what every request has counts, with what the last one was told beside", () => {
  assert.equal(mayBeFull(history, known), false);
  assert.equal(mayBeFull(history, { ...known, everyRequest: 1600 }), true, "1,800 of 2,000");
  assert.equal(mayBeFull(history, { ...known, everyRequest: Infinity }), true, "nothing is known yet");
});

test("many short messages, an omission and summaries that want work need no tokens", () => {
  assert.equal(mayBeFull(history, { ...known, maxRawMessages: 10 }), true);
  assert.equal(mayBeFull({ ...history, omittedTo: 1 }, known), true);
  assert.equal(mayBeFull(covered([summary(1), summary(2), summary(3)]), known), false);
  assert.equal(mayBeFull(covered([summary(1, { needsRedo: true })]), known), true);
  const four = covered([1, 2, 3, 4].map((seq) => summary(seq)));
  assert.equal(mayBeFull(four, known), false);
  const tight = { ...known, summaries: () => ({ summaryCap: 40, summaryRoom: 270 }) };
  assert.equal(mayBeFull(four, tight), true, "one more has no room");
  assert.equal(mayBeFull(covered([summary(1, { kind: "reset", text: "", needsRedo: true })]), known), false);
});

test("a large window is full by the tokens of what was said, too", () => {
  assert.equal(mayBeFull(history, { ...known, maxRawTokens: 150 }), true);
});

test("a stretch may be written ahead once there is enough before the newest messages that has no summary", () => {
  const ahead = { least: 70, keepMessages: 4, keepTokens: 1000 };
  assert.equal(mayBeFull(history, { ...known, ahead: () => ahead }), true);
  assert.equal(mayBeFull(history, { ...known, ahead: () => ({ ...ahead, least: 140 }) }), false);
  assert.equal(mayBeFull(history, { ...known, ahead: () => ({ ...ahead, keepMessages: 7 }) }), false);
  assert.equal(
    mayBeFull(history, { ...known, ahead: () => ({ ...ahead, keepMessages: 7, keepTokens: 60 }) }),
    true,
  );
  const written = { ...history, ahead: [{ kind: "leaf" as const, fromSeq: 1, toSeq: 5 }] };
  assert.equal(mayBeFull(written, { ...known, ahead: () => ahead }), false);
});
