import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { ThinkingFilter } from "../../../src/llm/chat/thinking-filter.ts";

function filtered(pieces: readonly string[]): string {
  const filter = new ThinkingFilter();
  let shown = "";
  for (const piece of pieces) {
    const { text, voided } = filter.push(piece);
    shown = voided ? text : shown + text;
  }
  return shown + filter.end();
}

describe("the thinking filter", () => {
  const cases: readonly (readonly [text: string, visible: string])[] = [
    ["Hello", "Hello"],
    ["  indented", "  indented"],
    ["<think>a</think>b", "b"],
    ["\n<thinking>a\n</thinking>\n\n b", "b"],
    ["<think></think><think>two</think>c", "c"],
    ["<think>never closed", ""],
    ["<thi", "<thi"],
    ["<b>bold</b>", "<b>bold</b>"],
    ["The tag `</think>` closes it.", "The tag `</think>` closes it."],
    ["text <think>quoted</think> text", "text <think>quoted</think> text"],
    ["thought\n</think>\n\nsaid", "said"],
    ["ends with\n</thi", "ends with\n</thi"],
  ];
  for (const [text, visible] of cases) {
    test(`shows ${JSON.stringify(visible)} of ${JSON.stringify(text)}`, () => {
      assert.equal(filtered([text]), visible);
    });
  }

  test("shows the same however the text is cut into pieces", () => {
    const text = fc.constantFrom(...cases.map(([whole]) => whole));
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 8 })), (whole, sizes) => {
        const pieces: string[] = [];
        let from = 0;
        for (const size of sizes) {
          pieces.push(whole.slice(from, from + size));
          from += size;
        }
        assert.equal(filtered([...pieces, whole.slice(from)]), filtered([whole]));
      }),
    );
  });
});

test("blanks without an end take no longer each, the more there are, and stay what they were", () => {
  const blanks = Array.from({ length: 120_000 }, () => "\n");
  const startedAt = process.cpuUsage();
  assert.equal(filtered([...blanks, "said"]), `${blanks.join("")}said`);
  assert.equal(filtered(blanks), blanks.join(""));
  assert.equal(filtered([" ", "<thi", "nk>a</think>", "\n", " b"]), "b");
  const ms = process.cpuUsage(startedAt).user / 1000;
  assert.ok(ms < 3000, `${ms} ms`);
});
