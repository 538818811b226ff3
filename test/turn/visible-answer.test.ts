import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { visibleAnswer } from "../../src/turn/visible-answer.ts";

describe("what people see of an answer", () => {
  test("has no imitated head, with or without a name, and no white space around it", () => {
    assert.equal(visibleAnswer("[2026-11-21 14:05] Weir: Hello."), "Hello.");
    assert.equal(visibleAnswer("\n \\[2026-11-21 14:05] Hello.\n"), "Hello.");
    assert.equal(visibleAnswer("[2026-11-21 14:05] 千早 🎈: Hello: you"), "Hello: you");
  });

  test("is the answer itself where it only looks a little like a head", () => {
    for (const text of [
      "[1] first",
      "[x]: y",
      "Note: see [2026-11-21 14:05] Ann: hi",
      "[2026-11-21]: today",
      "",
    ]) {
      assert.equal(visibleAnswer(text), text);
    }
  });

  test("is nothing while it may still become a head", () => {
    for (const text of [
      "[",
      "[2026-11",
      "[2026-11-21 14:05]",
      "[2026-11-21 14:05] We",
      "[2026-11-21 14:05] Weir:",
    ]) {
      assert.equal(visibleAnswer(text, { isPartial: true }), "", text);
    }
    assert.equal(visibleAnswer("[2026-11-21 14:05] Weir: H", { isPartial: true }), "H");
    assert.equal(visibleAnswer("[abc", { isPartial: true }), "[abc");
    const list = `[1] ${"point ".repeat(20)}`;
    assert.equal(visibleAnswer(list, { isPartial: true }), list);
  });

  test("only grows while it is written, and ends as the whole answer does", () => {
    const head = fc.constantFrom(
      "",
      "[2026-11-21 14:05] ",
      "[2026-11-21 14:05] Weir: ",
      "\\[2026-11-21 14:05] A: ",
    );
    const space = fc.constantFrom("", "\n", " ".repeat(150));
    const body = fc.oneof(fc.string(), fc.constantFrom("[1] one: two", "Hello: you", "word ".repeat(60)));
    fc.assert(
      fc.property(space, head, body, (before, start, rest) => {
        const text = before + start + rest;
        let shown = "";
        for (let end = 1; end <= text.length; end++) {
          const next = visibleAnswer(text.slice(0, end), { isPartial: true });
          assert.ok(next.startsWith(shown), `${JSON.stringify(shown)} became ${JSON.stringify(next)}`);
          shown = next;
        }
        assert.ok(visibleAnswer(text).startsWith(shown.trim()));
      }),
    );
  });
});
