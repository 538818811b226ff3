import assert from "node:assert/strict";
import { test } from "node:test";

import { usableTokens } from "../../src/context/usage.ts";
import { budgetOf } from "../../src/turn/agent.ts";
import { defaultAgent } from "../context/agent.ts";

const agent = defaultAgent();

/** The room of the default agent in a window of this size. */
function usableOf(contextWindow: number): number {
  return usableTokens(budgetOf({ ...agent, config: { ...agent.config, contextWindow } }, "any"));
}

test("a request has the window less what is kept for the answer", () => {
  const { maxOutputTokens, generationReserve } = agent.config;
  assert.equal(usableOf(100_000), 100_000 - maxOutputTokens - generationReserve);
});

test("a small window is never given away to the answer", () => {
  assert.equal(usableOf(4096), 3072);
});
