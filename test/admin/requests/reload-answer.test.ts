import assert from "node:assert/strict";
import { test } from "node:test";
import { formatReloaded, reloadAnswer, type Reloaded } from "../../../src/admin/requests/reload-answer.ts";

const NOTHING: Reloaded = { kind: "reloaded", live: [], prompts: false, atStart: [] };

test("a reload says what has changed, or when that was taken up before it was asked", () => {
  assert.equal(formatReloaded(NOTHING), "Nothing has changed.");
  const changed = { ...NOTHING, live: ["llm.model"], prompts: true, atStart: ["http.listen"] };
  assert.equal(
    formatReloaded(changed),
    "Reloaded: llm.model, templates, or the agents' folders\nTakes effect at the next start: http.listen",
  );
  const saved = { ...NOTHING, last: { live: ["llm.model"], prompts: false, agoMs: 2000 } };
  assert.equal(
    formatReloaded(saved),
    "Nothing has changed since the reload 2 s ago, which took up: llm.model",
  );
  assert.deepEqual(reloadAnswer.safeParse({ ...saved }).data, saved);
});
