import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readFrontMatter } from "../../src/agent-files/front-matter.ts";
import { cpuMs } from "../support/cpu-time.ts";

test("front matter is taken off the text, with its values", () => {
  const read = readFrontMatter('---\nname: sails\npaths: ["src/**", docs/*]\n---\n# Sails\n\n---\nmore\n');
  assert.deepEqual(read, {
    values: { name: "sails", paths: ["src/**", "docs/*"] },
    body: "# Sails\n\n---\nmore\n",
    problem: null,
  });
  assert.deepEqual(readFrontMatter("---\r\nname: a\r\n---\r\nb"), {
    values: { name: "a" },
    body: "b",
    problem: null,
  });
  assert.deepEqual(readFrontMatter("---\n---\nb"), { values: {}, body: "b", problem: null });
  assert.deepEqual(readFrontMatter("plain\n---\n"), { values: {}, body: "plain\n---\n", problem: null });
});

test("what is wrong in it is told with its line", () => {
  assert.match(readFrontMatter("---\nname: a\nb: [1\n---\nx").problem ?? "", /^[34]: /);
  assert.match(readFrontMatter("---\n- a\n---\nx").problem ?? "", /list of/);
  assert.match(readFrontMatter("---\nname: a\nno end").problem ?? "", /^1: .*no end/);
  // A few lines that would be expanded to a billion.
  const bomb = [
    "a: &a [x]",
    ...Array.from("bcdefghi", (key, at) => `${key}: &${key} [*${"abcdefghi"[at]},*${"abcdefghi"[at]}]`),
  ];
  const ms = cpuMs(() => void readFrontMatter(`---\n${bomb.join("\n")}\n---\nx`));
  assert.ok(ms < 2000, `${ms} ms`);
});

test("whatever a file holds, reading it does not throw", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (yaml, body) => {
      assert.equal(typeof readFrontMatter(`---\n${yaml}\n---\n${body}`).body, "string");
    }),
  );
});
