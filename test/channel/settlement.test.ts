import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { toSettlement } from "../../src/channel/settlement.ts";

const failureText = (kind: string): string => `Sorry (${kind}).`;

describe("the settlement of a turn", () => {
  test("that was answered is its answer", () => {
    assert.deepEqual(toSettlement({ kind: "answered", text: "Hello." }, failureText), {
      state: "answered",
      reason: null,
      entry: { kind: "assistant", text: "Hello.", stopped: false },
    });
  });

  test("that chose silence says nothing, and why to the log", () => {
    assert.deepEqual(toSettlement({ kind: "skipped", reason: "only thanks" }, failureText), {
      state: "skipped",
      reason: "only thanks",
      entry: null,
    });
  });

  test("that was stopped keeps what it had said, if anything", () => {
    assert.deepEqual(toSettlement({ kind: "stopped", text: " Hello, I " }, failureText).entry, {
      kind: "assistant",
      text: "Hello, I",
      stopped: true,
    });
    assert.equal(toSettlement({ kind: "stopped", text: "\n " }, failureText).entry, null);
  });

  test("that failed is a sentence for the person, and the provider's words stay in the log", () => {
    const why = "unauthorized (gpt): Incorrect API key provided: sk-1";
    const settled = toSettlement({ kind: "failed", failure: "misconfigured", why }, failureText);
    assert.deepEqual(settled, {
      state: "failed",
      reason: why,
      entry: { kind: "notice", text: "Sorry (misconfigured)." },
    });
  });
});
