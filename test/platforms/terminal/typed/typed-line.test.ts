import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readTypedLine, type TypedLine } from "../../../../src/platforms/terminal/typed/typed-line.ts";

describe("a typed line", () => {
  const ana = (text: string): TypedLine => ({ type: "message", speaker: "ana", text });
  const cases: [line: string, meaning: TypedLine][] = [
    ["   ", { type: "empty" }],
    ["hi there ", ana("hi there")],
    ["\n  if (a) b();\n", ana("  if (a) b();")],
    ["/status", { type: "command", name: "status", argument: "" }],
    ["  /Context  detail x ", { type: "command", name: "context", argument: "detail x" }],
    ["//etc", ana("/etc")],
    ["/etc/hosts is a file", ana("/etc/hosts is a file")],
    ["/ hm", ana("/ hm")],
    ["/quit", { type: "quit" }],
    ["/as Ben B.", { type: "speaker", name: "Ben B." }],
    ["ben: hi", ana("ben: hi")],
  ];
  for (const [line, meaning] of cases) {
    test(`${JSON.stringify(line)} is a ${meaning.type}`, () => {
      assert.deepEqual(readTypedLine(line, { speaker: "ana", multi: false }), meaning);
    });
  }

  test("/as without a name says what to type", () => {
    assert.equal(readTypedLine("/as", { speaker: "ana", multi: false }).type, "mistake");
    assert.equal(readTypedLine(`/as ${"x".repeat(41)}`, { speaker: "ana", multi: false }).type, "mistake");
  });

  test("speaks as the name before a colon where several people share the terminal", () => {
    const read = (line: string): TypedLine => readTypedLine(line, { speaker: "ana", multi: true });
    assert.deepEqual(read("ben: hi: you"), { type: "message", speaker: "ben", text: "hi: you" });
    assert.deepEqual(read("http://x.org is down"), ana("http://x.org is down"));
    assert.deepEqual(read("at 12:30 then"), ana("at 12:30 then"));
    assert.deepEqual(read("I think: no"), ana("I think: no"));
  });
});
