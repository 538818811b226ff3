import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chanceOfHit, chooseLife } from "../../../src/llm/caches/life.ts";
import { type CachedModel, cacheRuleOf } from "../../../src/llm/caches/rules.ts";

const rule = (model: string, hostname: string, overrides: Partial<CachedModel> = {}) =>
  cacheRuleOf({ model, hostname, said: "auto", api: "chat", ...overrides });

describe("which rule holds", () => {
  for (const [model, hostname, marks] of [
    ["gpt-5.6-luna", "api.openai.com", "breakpoints"],
    ["gpt-6.1-sol-2026-10-26", "eu.api.openai.com", "breakpoints"],
    ["gpt-10", "api.openai.com", "breakpoints"],
    ["gpt-5.6-sol", "weir.openai.azure.com", "breakpoints"],
    ["openai/gpt-5.6-terra", "openrouter.ai", "breakpoints"],
    ["anthropic/claude-opus-5.5", "openrouter.ai", "cache_control"],
    ["~anthropic/claude-sonnet-latest", "openrouter.ai", "cache_control"],
    ["gpt-5.5", "api.openai.com", "none"],
    ["gpt-5", "api.openai.com", "none"],
    ["gpt-4o", "api.openai.com", "none"],
    ["gpt-oss-120b", "api.openai.com", "none"],
    ["gpt-5.6-luna", "gateway.example", "none"],
    ["gpt-5.6-luna", "api.openai.com.example", "none"],
    ["mistralai/gpt-6", "openrouter.ai", "none"],
    ["claude-opus-5", "gateway.example", "none"],
  ] as const) {
    test(`${model} at ${hostname}: ${marks}`, () => assert.equal(rule(model, hostname).marks, marks));
  }

  test("what an operator says goes over it", () => {
    assert.equal(rule("behind-a-gateway", "", { said: true }).marks, "cache_control");
    assert.equal(rule("behind-a-gateway", "", { said: true }).most, 3);
    assert.equal(rule("openai/gpt-6-luna", "", { said: true }).marks, "breakpoints");
    assert.equal(rule("large", "", { said: "breakpoints" }).marks, "breakpoints");
    assert.equal(rule("gpt-6-luna", "api.openai.com", { said: false }).marks, "none");
  });

  test("Anthropic's own API is marked, from as many tokens on as the model wants", () => {
    for (const [model, least] of [
      ["claude-opus-5-5", 512],
      ["claude-opus-4.6", 4096],
      ["claude-opus-4-8", 1024],
      ["claude-sonnet-5-5", 1024],
    ] as const) {
      const one = rule(model, "api.anthropic.com", { api: "messages" });
      assert.deepEqual([one.marks, one.least, one.most], ["cache_control", least, 4]);
    }
  });

  test("twelve hours are for Responses alone", () => {
    const lives = (api: "chat" | "responses") => rule("gpt-6-luna", "api.openai.com", { api }).lives;
    assert.deepEqual(
      [lives("chat"), lives("responses")].map((all) => all.map(({ ttl }) => ttl)),
      [[undefined], [undefined, "12h"]],
    );
  });
});

describe("the life of a cache", () => {
  const MINUTE = 60_000;
  const anthropic = rule("claude-sonnet-5", "", { api: "messages" });
  const waits = (...minutes: number[]) => minutes.map((one) => one * MINUTE);

  test("is short where a channel speaks often, or its pace is unknown", () => {
    assert.equal(chooseLife(anthropic, []), anthropic.lives[0]);
    assert.equal(chooseLife(anthropic, waits(1, 2, 1, 3, 1, 2)), anthropic.lives[0]);
  });
  test("is long where turns come within the hour; and nothing is written where neither would hold", () => {
    assert.equal(chooseLife(anthropic, waits(10, 20, 15, 30)), anthropic.lives[1]);
    assert.equal(chooseLife(anthropic, waits(300, 900, 1440)), null);
  });
  test("goes by what has followed a wait like the last one", () => {
    const bursts = waits(600, 1, 1, 1, 1, 600, 1, 1, 1, 1, 600, 1, 1, 1, 1);
    assert.equal(chooseLife(anthropic, bursts), anthropic.lives[0]);
    assert.equal(chooseLife(anthropic, [...bursts, 600 * MINUTE]), anthropic.lives[0], "a burst begins");
    assert.equal(chanceOfHit({ ms: 5 * MINUTE }, waits(1, 1, 1)), 1);
    assert.equal(chanceOfHit({ ms: 5 * MINUTE }, []), 1);
    const alone = waits(600, 1, 600, 1, 600, 1);
    assert.ok(chanceOfHit({ ms: 5 * MINUTE }, alone) < 0.3, "two at a time");
    assert.ok(chanceOfHit({ ms: 5 * MINUTE }, alone.slice(0, -1)) > 0.6);
  });
  test("is short where a turn adds most of what is cached", () => {
    assert.equal(chooseLife(anthropic, waits(1, 1, 1, 10), 0.9)?.ttl, undefined);
  });
});
