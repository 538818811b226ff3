import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { UsageAnchor } from "../../src/channel/model-usage.ts";
import type { ModelCallRecord } from "../../src/llm/model.ts";

function call(model: string, promptTokens: number | null, outcome: ModelCallRecord["outcome"] = "answered") {
  const usage =
    promptTokens === null
      ? undefined
      : { promptTokens, cachedTokens: 0, writtenTokens: 0, completionTokens: 5 };
  return { model, outcome, usage, isPaid: true, receivedTokens: 0, firstTokenMs: 1, totalMs: 2 };
}

/** An anchor that knows one report of the model `main`. */
function known(): UsageAnchor {
  return new UsageAnchor({ model: "main", estimated: 1000, reported: 800 });
}

describe("the anchor of a channel", () => {
  test("is the last request that the model's provider has counted", () => {
    const anchor = new UsageAnchor(null);
    assert.equal(anchor.of("main"), null);
    anchor.note(call("main", 900), 1000);
    anchor.note(call("main", 1900), 2000);
    assert.deepEqual(anchor.of("main"), { model: "main", estimated: 2000, reported: 1900 });
  });

  test("is none for the agent's model after a fallback has answered: its tokens are others", () => {
    const anchor = known();
    anchor.note(call("fallback", 3000), 1200);
    assert.equal(anchor.of("main"), null);
    assert.equal(anchor.of("fallback")?.reported, 3000);
    anchor.note(call("main", 1000), 1300);
    assert.equal(anchor.of("main")?.reported, 1000);
  });

  test("stays where a call failed, was not counted, or was counted absurdly", () => {
    const anchor = known();
    anchor.note(call("main", null), 2000);
    anchor.note(call("main", null, "unavailable"), 2000);
    anchor.note(call("main", 2000, "empty"), 2000);
    anchor.note(call("main", 0), 2000);
    anchor.note(call("main", 100_000), 2000);
    assert.equal(anchor.of("main")?.reported, 800);
  });

  test("is void once a request that was thought to fit was too long", () => {
    const anchor = known();
    anchor.note(call("main", null, "context_length"), 2000);
    assert.equal(anchor.of("main"), null);
  });

  test("is not taken over from an absurd row", () => {
    assert.equal(new UsageAnchor({ model: "main", estimated: 1000, reported: 0 }).of("main"), null);
  });
});
