import assert from "node:assert/strict";
import { test } from "node:test";
import {
  difference,
  headline,
  levelSentence,
  replySentence,
  seconds,
} from "../../../../../src/daemon/http/page/timeline/sentences.ts";

const NONE = { count: 0, half: null, most: null };
const ALL = { count: 1412, half: 1200, most: 4000 };

test("the headline sets replies beside compactions against all of them", () => {
  assert.equal(headline({ waits: NONE, waitsBeside: NONE }), "No reply in this time");
  assert.equal(headline({ waits: ALL, waitsBeside: NONE }), "Half of the replies came within 1.2 s");
  const beside = { count: 38, half: 1290, most: 4200 };
  assert.equal(
    headline({ waits: ALL, waitsBeside: beside }),
    "Half of the replies came within 1.2 s; while a summary was being written, within 1.3 s",
  );
});

test("a sentence says what was measured, how often, and what failed", () => {
  assert.equal(replySentence({ waits: NONE, waitsBeside: NONE, failures: [] }), "");
  assert.equal(replySentence({ waits: NONE, waitsBeside: NONE, failures: [1] }), "1 turn failed.");
  assert.equal(
    replySentence({ waits: ALL, waitsBeside: { count: 38, half: 1290, most: 4200 }, failures: [] }),
    "1,412 replies, from the message to the first part of the answer; 95 % within 4.0 s. " +
      "38 came while a summary was being written; 95 % of them within 4.2 s.",
  );
  assert.match(
    replySentence({ waits: ALL, waitsBeside: NONE, failures: [1, 2] }),
    /None came while a summary was being written\. 2 turns failed\.$/,
  );
});

test("the level is named with the mark that comes next", () => {
  const next = { tier: "background", at: 13_900, left: 2100, by: "window" } as const;
  assert.equal(
    levelSentence("61 %", { next, keptForRecall: 0 }),
    "Level 61 % of the usable window; next mark: background at 13,900 tokens, 2,100 more.",
  );
  assert.equal(
    levelSentence("61 %", { next, keptForRecall: 2400 }),
    "Level 61 % of the usable window; next mark: background at 13,900 tokens, 2,100 more (2,400 are kept free for recall).",
  );
  assert.equal(
    levelSentence("97 %", { next: null, keptForRecall: 0 }),
    "Level 97 % of the usable window; all marks are reached.",
  );
});

test("times and tokens are short", () => {
  assert.deepEqual([340, 1200, 12_300, 300_000].map(seconds), ["0.34 s", "1.2 s", "12 s", "5 min"]);
  assert.deepEqual([4400, -12].map(difference), ["−4,400", "+12"]);
});
