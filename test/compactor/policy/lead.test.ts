import assert from "node:assert/strict";
import { test } from "node:test";
import { leadTokens } from "../../../src/compactor/policy/lead.ts";
import type { Entry } from "../../../src/core/entry.ts";
import { rawHistory } from "../channel.ts";

/** Ten messages of 20 tokens, one each so many ms. */
function every(ms: number): { entries: readonly Entry[] } {
  return { entries: rawHistory(10).entries.map((entry, index) => ({ ...entry, at: new Date(index * ms) })) };
}

test("what is going to be said grows with the pace of the newest messages, and with the summariser's time", () => {
  // 200 tokens in 9 s.
  assert.equal(Math.round(leadTokens(every(1000), 4500, 1000)), 100);
  assert.equal(Math.round(leadTokens(every(2000), 9000, 1000)), 100);
});

test("of a burst no more is expected than a stretch has; where nothing is known, nothing", () => {
  assert.equal(leadTokens(every(0), 20_000, 300), 300);
  assert.equal(leadTokens(every(1000), 0, 300), 0);
  assert.equal(leadTokens({ entries: every(1000).entries.slice(0, 1) }, 20_000, 300), 0);
  assert.equal(leadTokens({ entries: [] }, 20_000, 300), 0);
});
