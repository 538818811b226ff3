import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { toSettlement } from "../../../src/channel/turns/settlement.ts";
import { cpuMs } from "../../support/cpu-time.ts";

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
    assert.deepEqual(toSettlement({ kind: "stopped", text: " Hello, I wond" }, failureText).entry, {
      kind: "assistant",
      text: "Hello, I … (stopped)",
      stopped: true,
    });
    const ends: readonly (readonly [said: string, shown: string])[] = [
      ["It rains. The mill is old. It was bui", "It rains. The mill is old. … (stopped)"],
      [
        "It rains. And then the miller of the old mill went to the ri",
        "It rains. And then the miller of the old mill went to the … (stopped)",
      ],
      ["All of it.", "All of it. … (stopped)"],
      ["version 1.4", "version … (stopped)"],
      ["水車は古い。それは", "水車は古い。それは … (stopped)"],
      ["Run this:\n```sh\nmake all\nmake inst", "Run this:\n```sh\nmake all\nmake\n```\n… (stopped)"],
    ];
    for (const [text, shown] of ends)
      assert.equal(toSettlement({ kind: "stopped", text }, failureText).entry?.text, shown);
    assert.equal(toSettlement({ kind: "stopped", text: "Supercali" }, failureText).entry, null);
    assert.equal(toSettlement({ kind: "stopped", text: "\n " }, failureText).entry, null);
  });
});

describe("the settlement of a turn that did not end as usual", () => {
  test("that was stopped behind a run without an end takes no longer than its length", () => {
    const said = (length: number): number =>
      cpuMs(() => toSettlement({ kind: "stopped", text: `${"a".repeat(length)} b` }, failureText));
    assert.ok(said(100_000) < 1000);
  });

  test("that answers words which were changed meanwhile says so", () => {
    const { entry } = toSettlement({ kind: "answered", text: "Blue." }, failureText, true);
    assert.equal(
      entry?.text,
      "Blue.\n\n(A message was changed meanwhile: this answers it as it read before.)",
    );
  });

  test("that failed is a sentence for the person, and the provider's words stay in a log line", () => {
    const why = "unauthorized (gpt, HTTP 401)";
    const logged = "Incorrect API key provided: sk-1";
    const failed = { kind: "failed", failure: "misconfigured", why } as const;
    const entry = { kind: "notice", text: "Sorry (misconfigured)." };
    assert.deepEqual(toSettlement({ ...failed, logged }, failureText), {
      state: "failed",
      reason: why,
      told: why,
      logged,
      entry,
    });
    // Weir's own words tell the operator what to do.
    assert.deepEqual(toSettlement({ ...failed, told: "Check llm.api_key." }, failureText), {
      state: "failed",
      reason: why,
      told: `${why}: Check llm.api_key.`,
      entry,
    });
  });
});
