import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { toSettlement } from "../../src/channel/settlement.ts";

const failureText = (kind: string): string => `Sorry (${kind}).`;

describe("the settlement of a turn", () => {
  test("that was answered is its answer", () => {
    assert.deepEqual(toSettlement({ kind: "answered", text: "Hello." }, failureText), {
      state: "answered",
      reason: null,
      told: null,
      entry: { kind: "assistant", text: "Hello.", stopped: false },
    });
  });

  test("that chose silence says nothing; why is told in a log line and not stored", () => {
    assert.deepEqual(toSettlement({ kind: "skipped", reason: "only thanks" }, failureText), {
      state: "skipped",
      reason: null,
      told: "only thanks",
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

  test("that failed is a sentence for the person, and the provider's words stay in a log line", () => {
    const why = "unauthorized (gpt, HTTP 401)";
    const said = "Incorrect API key provided: sk-1";
    const settled = toSettlement({ kind: "failed", failure: "misconfigured", why, said }, failureText);
    assert.deepEqual(settled, {
      state: "failed",
      reason: why,
      told: `${why}: ${said}`,
      entry: { kind: "notice", text: "Sorry (misconfigured)." },
    });
  });
});
