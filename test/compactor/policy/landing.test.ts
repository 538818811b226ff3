import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Landing, landsNow } from "../../../src/compactor/policy/landing.ts";
import { cacheTerms, type CacheTerms } from "../../../src/llm/caches/terms.ts";
import { cacheRuleOf } from "../../../src/llm/caches/rules.ts";

const WARM: CacheTerms = { read: 0.1, write: 1.25, isCold: false, chance: 1 };
const LANDING: Landing = { before: 14_000, after: 7000, shared: 3000, perTurn: 500, room: 20_000 };

describe("a landing", () => {
  test("comes at once where every turn finds the cache: to wait would only cost more reading", () => {
    assert.ok(landsNow(LANDING, WARM));
    assert.ok(landsNow({ ...LANDING, room: 0 }, WARM));
  });

  test("waits where the cache is about to go cold anyway, and costs nothing once it has", () => {
    assert.ok(!landsNow(LANDING, { ...WARM, chance: 0.5 }));
    assert.ok(landsNow(LANDING, { ...WARM, chance: 0.5, isCold: true }));
    assert.ok(landsNow(LANDING, { ...WARM, chance: 0.95 }));
  });

  test("waits the less, the more of the request it takes away", () => {
    const terms = { ...WARM, chance: 0.8 };
    assert.ok(!landsNow({ ...LANDING, before: 8000 }, terms));
    assert.ok(landsNow({ ...LANDING, before: 60_000 }, terms));
  });

  test("comes at once where a cache saves nothing", () => {
    assert.ok(landsNow(LANDING, { read: 1, write: 1, isCold: false, chance: 0.5 }));
  });

  test("has an answer for whatever is known", () => {
    for (const room of [-1, 0, 1, 1e9])
      for (const perTurn of [0, 1, 1e9])
        for (const chance of [0, 0.5, 1])
          assert.equal(typeof landsNow({ ...LANDING, room, perTurn }, { ...WARM, chance }), "boolean");
    assert.ok(!landsNow(LANDING, { ...WARM, chance: 0 }), "the next request finds nothing: then it is free");
  });
});

describe("the terms of a cache", () => {
  const MINUTE = 60_000;
  const rule = cacheRuleOf({ hostname: "", model: "claude-opus-5-5", said: "auto", api: "messages" });
  const price = { input: 4, cached: 0.2, write: 5, output: 20 };

  test("are the provider's prices, and the life that fits the pace", () => {
    const busy = { lastAt: 0, waits: [MINUTE, MINUTE] };
    assert.deepEqual(cacheTerms(rule, price, busy, MINUTE), {
      read: 0.05,
      write: 1.25,
      isCold: false,
      chance: 1,
    });
    assert.ok(cacheTerms(rule, price, busy, 6 * MINUTE).isCold);
    const slow = { lastAt: 0, waits: [20, 30, 20, 40, 30, 20].map((one) => one * MINUTE) };
    assert.deepEqual(cacheTerms(rule, price, slow, 59 * MINUTE), {
      read: 0.05,
      write: 2,
      isCold: false,
      chance: 1,
    });
  });

  test("are warm a minute after a request where the server needs no marks, however seldom people speak", () => {
    const prefix = cacheRuleOf({ hostname: "", model: "any", said: "auto", api: "chat" });
    const seldom = { lastAt: 0, waits: [30, 48, 30].map((hours) => hours * 60 * MINUTE) };
    assert.equal(cacheTerms(prefix, undefined, seldom, MINUTE).isCold, false);
    assert.equal(cacheTerms(prefix, undefined, seldom, 25 * 60 * MINUTE).isCold, true);
  });

  test("are the usual ones without a price, and never cold where no turn is known", () => {
    const terms = cacheTerms(rule, undefined, { lastAt: null, waits: [] }, 1e12);
    assert.deepEqual(terms, { read: 0.1, write: 1.25, isCold: false, chance: 1 });
    assert.equal(cacheTerms(rule, { ...price, input: 0 }, { lastAt: null, waits: [] }, 0).read, 0.1);
  });
});
