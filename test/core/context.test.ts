import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Context,
  imageCount,
  type ModelMessage,
  type SegmentKey,
  stableEnds,
} from "../../src/core/context.ts";

const PICTURED: ModelMessage = {
  role: "user",
  text: "look",
  images: [{ type: "image/png", base64: "AAAA" }],
};

function said(count: number): ModelMessage[] {
  return Array.from({ length: count }, (_, index) => ({ role: "user", text: `m${index}` }));
}

function contextOf(parts: Partial<Record<SegmentKey, readonly ModelMessage[]>>): Context {
  const keys = ["tools", "system", "summaries", "history", "due", "dynamic", "turn"] as const;
  const segments = keys.map((key) => {
    const messages = parts[key] ?? [];
    return { key, label: key, tokens: 0, count: messages.length, messages };
  });
  return { tools: [], sections: [], focus: null, segments, tokens: 0 };
}

describe("what the next request begins with", () => {
  const whole = { system: said(1), summaries: said(2), history: said(5), due: said(2), dynamic: said(1) };

  test("ends behind the system prompt, the summaries, and the messages to answer", () => {
    assert.deepEqual(stableEnds(contextOf({ ...whole, turn: said(4) })), [1, 3, 10]);
  });

  test("has no end twice, and none where nothing is", () => {
    assert.deepEqual(stableEnds(contextOf({ system: said(1), dynamic: said(1) })), [1]);
    assert.deepEqual(stableEnds(contextOf({ system: said(1), history: said(3) })), [1, 4]);
    assert.deepEqual(stableEnds(contextOf({ dynamic: said(1) })), []);
  });

  test("ends before a picture, which is shown once", () => {
    const due = [...said(1), PICTURED, ...said(1)];
    assert.deepEqual(stableEnds(contextOf({ ...whole, due })), [1, 3, 9]);
    assert.equal(imageCount(contextOf({ ...whole, due })), 1);
    assert.deepEqual(stableEnds(contextOf({ due: [PICTURED] })), []);
  });
});
