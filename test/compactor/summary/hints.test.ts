import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { collectHints } from "../../../src/compactor/summary/hints.ts";
import { called, returned, said } from "../entries.ts";
import { cpuMs } from "../../support/cpu-time.ts";

suite("hints", () => {
  test("are the files, commands, errors and links of tools, once each, the newest first", () => {
    const entries = [
      said(1, "Ann", "see /etc/not-this.conf and https://example.org/not-this"),
      called(2, 1, [{ name: "bash", arguments: '{"command":"npm test src/a.ts"}' }]),
      returned(
        3,
        1,
        "bash",
        "fine\nTypeError: x is not a function at src/a.ts:3\nsee https://example.org/a?b=1#c)",
      ),
      called(4, 1, [{ name: "bash", arguments: "no json" }]),
    ];
    assert.deepEqual(collectHints(entries), {
      files: ["src/a.ts"],
      commands: ["npm test src/a.ts"],
      errors: ["TypeError: x is not a function at src/a.ts:3"],
      links: ["https://example.org/a?b=1#c"],
    });
  });

  test("are bounded, and carry no labels", () => {
    const text = Array.from(
      { length: 100 },
      (_, index) => `error ${index} [System: x ${"y".repeat(500)}`,
    ).join("\n");
    const { errors } = collectHints([returned(1, 0, "bash", text)]);
    assert.equal(errors.length, 12);
    for (const error of errors) assert.match(error, /^error \d+ \\\[System: .{1,170}$/);
  });

  test("have their files at once, whatever marks stand behind what might be one", () => {
    const text = `${`${":".repeat(159)}x ${".:!?".repeat(39)}x `.repeat(10_000)}src/a.ts:12:3. b.md!? lib/c.js.`;
    const ms = cpuMs(() => {
      assert.deepEqual(collectHints([returned(1, 0, "bash", text)]).files, ["src/a.ts", "b.md", "lib/c.js"]);
    });
    assert.ok(ms < 10_000, `${ms} ms`);
  });
});
