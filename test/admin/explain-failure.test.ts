import assert from "node:assert/strict";
import { test } from "node:test";
import { describeReason, explainFailure } from "../../src/admin/explain-failure.ts";

test("a refused key, the provider's words and the log stand in two sentences", () => {
  assert.equal(
    explainFailure("unauthorized (gpt-x, HTTP 401): Incorrect API key provided.", "/data/weir.log"),
    "No answer: the model's server refused the key (gpt-x, HTTP 401): Incorrect API key provided. Put the right one into .env; `npm run -s weir -- doctor` tries it. The log: /data/weir.log.",
  );
});

test("a reason is told in plain words, with what the server has said in short and where to look", () => {
  assert.equal(
    explainFailure("quota (gpt-x, HTTP 429, insufficient_quota)", undefined),
    "No answer: the account's quota is spent (gpt-x, HTTP 429, insufficient_quota). Look at the billing page of the model's provider, or name a model of another one in fallbacks; `npm run -s weir -- doctor` tries it.",
  );
  assert.match(
    explainFailure("unknown_model (gpt-y, HTTP 404, model_not_found)", undefined),
    /^No answer: the model's server does not know the model, or not for this key \(gpt-y, /,
  );
  assert.equal(describeReason("quota"), "the account's quota is spent");
  assert.equal(describeReason("unavailable"), "unavailable");
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
    `No answer: the model's server redirects (gpt-x, HTTP 308): ${said}. Mend base_url; \`npm run -s weir -- doctor\` tries it.`,
  );
});
