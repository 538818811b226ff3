import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { cleanSummary } from "../../../src/compactor/summary/summary-checks.ts";
import { cpuMs } from "../../support/cpu-time.ts";

describe("a summary as it is kept", () => {
  test("has no fence, no tag and no label round it, also where they stand round one another", () => {
    assert.equal(
      cleanSummary("```markdown\n<summary>\n## Summary\nAnn said hi.\n</summary>\n```"),
      "Ann said hi.",
    );
    assert.equal(cleanSummary("Here is the summary:\n**Summary:** Ann said `hi`."), "Ann said `hi`.");
  });

  test("is there at once, however many of them a model writes", () => {
    const count = 200_000;
    const ms = cpuMs(() => {
      for (const [open, close] of [
        ["```\n", "\n```"],
        ["<summary>", "</summary>"],
      ] as const)
        assert.match(
          cleanSummary(`${open.repeat(count)}Ann said hi.${close.repeat(count)}`),
          /Ann said hi\./,
        );
    });
    assert.ok(ms < 10_000, `${ms} ms`);
  });
});
