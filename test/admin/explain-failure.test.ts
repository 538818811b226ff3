import assert from "node:assert/strict";
import { test } from "node:test";
import { explainFailure } from "../../src/admin/explain-failure.ts";

test("a refused key, the provider's words and the log stand in two sentences", () => {
  assert.equal(
    explainFailure("unauthorized (gpt-x, HTTP 401): Incorrect API key provided.", "/data/weir.log"),
    "No answer: the model's server refused the key (gpt-x, HTTP 401): Incorrect API key provided. Put the right one into .env; `weir doctor` tries it. The log: /data/weir.log.",
  );
});

test("what is no model's error is told as it is, on one line, cut and obeyed by no terminal", () => {
  assert.equal(
    explainFailure("the budget of the agent is spent for today", undefined),
    "No answer: the budget of the agent is spent for today.",
  );
  const long = explainFailure(`rejected (m): \u001B[2J\n${"x".repeat(2000)}`, undefined);
  assert.ok(long.length < 600);
  assert.ok(!long.includes("\u001B") && !long.includes("\n"));
});

test("a redirect is told with where it leads, and what to set", () => {
  const said =
    "http://a.example redirects to https://a.example (HTTP 308), and Weir follows no redirect: set base_url to …";
  assert.equal(
    explainFailure(`redirected (gpt-x, HTTP 308): ${said}`, undefined),
    `No answer: the model's server redirects (gpt-x, HTTP 308): ${said}. Mend base_url; \`weir doctor\` tries it.`,
  );
});
