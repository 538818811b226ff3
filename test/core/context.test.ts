import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Context, type ModelMessage, type SegmentKey } from "../../src/core/context.ts";
import type { TextEnd } from "../../src/core/canonical.ts";
import { contextRequest } from "../../src/core/context-request.ts";

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

/** What stands before an end, in the messages that are sent. */
function before(context: Context, { message, length }: TextEnd): string {
  const { messages } = contextRequest(context);
  const texts = messages.slice(0, message + 1).map(({ role, text }) => `${role}: ${text}`);
  const cut = (messages[message]?.text.length ?? 0) - length;
  const all = texts.join(" | ");
  return all.slice(0, all.length - cut);
}

function endsOf(parts: Partial<Record<SegmentKey, readonly ModelMessage[]>>): string[] {
  const context = contextOf(parts);
  return contextRequest(context).stableEnds.map((end) => before(context, end));
}

describe("what the next request begins with", () => {
  const system: ModelMessage = { role: "system", text: "be kind" };
  const answer: ModelMessage = { role: "assistant", text: "yes", calls: [] };
  const now: ModelMessage = { role: "user", text: "noon" };
  const whole = {
    system: [system],
    summaries: said(2),
    history: [...said(1), answer],
    due: said(2),
    dynamic: [now],
  };

  test("ends behind the system prompt, each summary, and the messages to answer", () => {
    const ends = endsOf({ ...whole, turn: [answer] });
    const [first, second] = ["system: be kind", "system: be kind | user: m0"];
    const third = `${second}\nm1`;
    assert.deepEqual(ends, [first, second, third, `${third}\nm0 | assistant: yes | user: m0\nm1`]);
    const { messages } = contextRequest(contextOf({ ...whole, turn: [answer] }));
    assert.deepEqual(
      messages.map(({ role, text }) => `${role}: ${text}`),
      ["system: be kind", "user: m0\nm1\nm0", "assistant: yes", "user: m0\nm1\nnoon", "assistant: yes"],
    );
  });

  test("has no end twice, and none where nothing is", () => {
    assert.deepEqual(endsOf({ system: [system], dynamic: [now] }), ["system: be kind"]);
    assert.deepEqual(endsOf({ system: [system], history: said(2) }), [
      "system: be kind",
      "system: be kind | user: m0\nm1",
    ]);
    assert.deepEqual(endsOf({ dynamic: [now] }), []);
  });

  test("ends before a picture, which is shown once", () => {
    const due = [...said(1), PICTURED, ...said(1)];
    const ends = endsOf({ ...whole, due });
    assert.equal(ends.length, 4);
    assert.match(ends[3] ?? "", /\| user: m0\nlook$/);
  });
});
