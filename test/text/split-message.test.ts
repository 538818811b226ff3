import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { splitText } from "../../src/text/split-message.ts";
import { anyCharacter } from "../support/any-character.ts";

const line = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.string({ unit: anyCharacter, maxLength: 80 }),
  fc.constantFrom("", "  ", "```", "```ts", "  ```", "~~~", "````md", "```js run()```", "👩‍👩‍👧‍👦".repeat(9)),
  fc.integer({ min: 50, max: 400 }).map((length) => "x".repeat(length)),
  fc.integer({ min: 5, max: 60 }).map((times) => "word ".repeat(times)),
);
const texts = fc.array(line, { maxLength: 30 }).map((lines) => lines.join("\n"));
const limits = fc.integer({ min: 30, max: 300 });

/** What people read, without white space and without lines that open or close a fence. */
function content(text: string): string {
  const lines = text.split("\n").filter((one) => !/^\s*(?:`{3}|~{3})/.test(one));
  return lines.join("").replaceAll(/\s/g, "");
}

describe("parts of a text", () => {
  test("are never longer than the limit, never blank and never torn in a pair", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 4, max: 300 }), (text, limit) => {
        const parts = splitText(text, limit);
        for (const part of parts) {
          assert.ok(part.length <= limit, `${part.length} > ${limit}`);
          assert.ok(part.isWellFormed());
          assert.ok(parts.length === 1 || part.trim() !== "");
        }
      }),
      { numRuns: 500 },
    );
  });

  test("joined, are what was said", () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        // A line that is a fence is a line of its own in its part; any other goes on where it was cut.
        const all = splitText(text, limit).map(content).join("");
        assert.equal(all, content(text));
      }),
      { numRuns: 500 },
    );
  });

  test("without a fence, joined, miss nothing but white space", () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        const plain = text.replaceAll(/[`~]/g, "");
        const bare = (one: string): string => one.replaceAll(/\s/g, "");
        assert.equal(bare(splitText(plain, limit).join("")), bare(plain));
      }),
    );
  });

  test("are always the same for the same text and limit, and one where it fits", () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        assert.deepEqual(splitText(text, limit), splitText(text, limit));
        assert.deepEqual(splitText(text, text.length), [text]);
      }),
    );
  });

  test("end at a line break, else at a space", () => {
    assert.deepEqual(splitText("one two three\nfour five\nsix", 24), ["one two three\nfour five", "six"]);
    assert.deepEqual(splitText("aaaa bbbb cccc dddd", 10), ["aaaa bbbb ", "cccc dddd"]);
  });

  test("stay under the limit where a text is mostly blank lines", () => {
    const parts = splitText(`a${" \n".repeat(5000)}b`, 100);
    assert.ok(parts.every(({ length }) => length <= 100));
    assert.equal(parts.join("").replaceAll(/\s/g, ""), "ab");
  });
});

describe("a code block over a split", () => {
  const code = Array.from({ length: 12 }, (_, index) => `const a${index} = ${index};`).join("\n");

  /** Each part, with what its code blocks hold. */
  function blocks(parts: readonly string[]): string[] {
    return parts.flatMap((part) => {
      assert.equal([...part.matchAll(/^(?:```|~~~|````)/gm)].length % 2, 0, `unbalanced: ${part}`);
      return [...part.matchAll(/^(?<mark>`{3,}|~{3,})\w*\n(?<body>.*?)\n\k<mark>$/gms)].map(
        (match) => match.groups?.["body"] ?? "",
      );
    });
  }

  test("is closed and opened again, in its language and with its own marker", () => {
    for (const [open, close] of [
      ["```ts", "```"],
      ["~~~", "~~~"],
      ["````md", "````"],
    ]) {
      const parts = splitText(`Look:\n${open}\n${code}\n${close}\nThat is all.`, 90);
      assert.ok(parts.length > 2);
      assert.equal(blocks(parts).join("\n"), code);
      assert.ok(parts.slice(1, -1).every((part) => part.startsWith(`${open}\n`)));
      assert.match(parts.at(-1) ?? "", /That is all\.$/);
    }
  });

  test("is never left empty on one side", () => {
    for (let limit = 60; limit < 200; limit++) {
      const parts = splitText(`${"words ".repeat(10)}\n\`\`\`ts\n${code}\n\`\`\`\nThat is all.`, limit);
      for (const part of parts) assert.doesNotMatch(part, /```ts\n```/);
      assert.equal(blocks(parts).join("\n"), code);
    }
  });

  test("goes on in the next part on a line of its own, where one line is longer than a part", () => {
    const parts = splitText(`\`\`\`\n${"x".repeat(300)}\n\`\`\``, 100);
    assert.equal(blocks(parts).join(""), "x".repeat(300));
  });

  test("does not begin with code within a line", () => {
    const parts = splitText(`Run \`a\` or\n\`\`\`run()\`\`\`\nand then ${"wait ".repeat(40)}`, 80);
    assert.equal(parts.join("").split("```").length, 3);
  });
});

test("a link is not torn where it fits in a part", () => {
  const link = "[how the weir was built](https://example.com/the/long/way/there?x=1)";
  for (let before = 0; before < 60; before++) {
    const text = `${"words ".repeat(before)}${link} ${"and more ".repeat(20)}`;
    const parts = splitText(text, 200);
    assert.ok(
      parts.some((part) => part.includes(link)),
      `torn behind ${before} words: ${JSON.stringify(parts)}`,
    );
  }
});
