import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LastSent, PrefixChain, windowUsedBy } from "../../../src/channel/turns/context-record.ts";
import type { Context, ModelMessage, Segment, SegmentKey } from "../../../src/core/context.ts";
import { budgetOf } from "../../context/agent.ts";
import { Conversation } from "../../context/conversation.ts";

const say = (text: string): ModelMessage => ({ role: "user", text });

function contextOf(history: readonly ModelMessage[], due: readonly ModelMessage[], now = "now"): Context {
  const segment = (key: SegmentKey, messages: readonly ModelMessage[]): Segment => {
    return { key, label: key, tokens: 1, count: messages.length, messages };
  };
  return {
    tools: [],
    sections: [],
    focus: null,
    segments: [
      segment("tools", []),
      segment("system", [{ role: "system", text: "you are" }]),
      segment("history", history),
      segment("due", due),
      segment("dynamic", [say(now)]),
      segment("turn", []),
    ],
    tokens: 5,
  };
}

describe("the prefixes of a channel's requests", () => {
  test("are told apart by whether each begins with the whole one before", () => {
    const chain = new PrefixChain();
    const [a, b, c] = [say("a"), say("b"), say("c")];
    assert.equal(chain.next("m", contextOf([], [a])).continues, null);
    const next = chain.next("m", contextOf([a], [b]));
    assert.equal(next.continues, true);
    assert.equal(next.messages, 3);
    assert.deepEqual(chain.next("m", contextOf([a, b], [])), next, "the same is the same");
    assert.equal(chain.next("m", contextOf([a, c], [])).continues, false, "another message");
    assert.equal(chain.next("m", contextOf([a], [])).continues, false, "a shorter one");
    assert.equal(chain.next("other", contextOf([a], [b])).continues, false, "another model");
  });

  test("do not depend on what stands behind the messages, nor on where a text is parted", () => {
    const [first, second] = [new PrefixChain(), new PrefixChain()];
    const one = first.next("m", contextOf([say("a")], [], "at one"));
    assert.deepEqual(second.next("m", contextOf([say("a")], [], "at two")), one);
    const parted = new PrefixChain().next("m", contextOf([say("a"), say("b")], []));
    assert.notEqual(new PrefixChain().next("m", contextOf([say("ab")], [])).sha256, parted.sha256);
  });

  test("take lone surrogates and NUL as they come", () => {
    const chain = new PrefixChain();
    const odd = say("\ud800 \u0000 漢字 👩‍👩‍👧");
    chain.next("m", contextOf([odd], []));
    assert.equal(chain.next("m", contextOf([odd, odd], [])).continues, true);
  });
});

test("what was counted belongs to the last request that was sent", () => {
  const sent = new LastSent();
  const usage = { promptTokens: 9, cachedTokens: 4, writtenTokens: 0, completionTokens: 1 };
  const paid = { isPaid: true, receivedTokens: 0 };
  const call = {
    model: "m",
    outcome: "answered",
    ...paid,
    firstTokenMs: undefined,
    totalMs: 1,
    usage,
  } as const;
  sent.answered(call);
  assert.equal(sent.current, null);
});

test("the window that a request took is its own share, without what an omission left out", () => {
  const at = new Date(0);
  const omission = { fromSeq: 1, toSeq: 90, count: 90, tokens: 40_000, firstAt: at, lastAt: at };
  const sent = {
    at,
    model: "m",
    context: { ...contextOf([], []), tokens: 2000 },
    history: { ...new Conversation().history, omission },
    budget: { ...budgetOf(10_000, 2000), calibration: { factor: 2, anchor: null } },
    isForOneCall: false,
    reported: null,
  };
  assert.deepEqual(windowUsedBy(sent), { windowUsed: 0.5 });
  assert.deepEqual(windowUsedBy(null), {});
});
