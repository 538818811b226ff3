import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  added,
  boundedScopes,
  type BudgetRules,
  crosses,
  describePurse,
  emptyPurse,
  limitsOf,
  type Purse,
  SCOPES,
  shareSpent,
} from "../../src/budget/budget.ts";

const NONE: BudgetRules = {
  tokens: 0,
  dollars: 0,
  channelTokens: 0,
  channelDollars: 0,
  personTokens: 0,
  personDollars: 0,
  warnAt: 0.8,
};

const amount = fc.record({ tokens: fc.nat(1000), dollars: fc.nat(1000).map((cents) => cents / 100) });
const purse: fc.Arbitrary<Purse> = fc.record({
  scope: fc.constantFrom(...SCOPES),
  limits: amount,
  spent: amount,
});

test("only what has a limit is bounded, in tokens, in money, or in both", () => {
  assert.deepEqual(boundedScopes(NONE), []);
  assert.deepEqual(boundedScopes({ ...NONE, channelDollars: 0.5, personTokens: 1 }), ["channel", "person"]);
  assert.deepEqual(limitsOf({ ...NONE, channelDollars: 0.5 }, "channel"), { tokens: 0, dollars: 0.5 });
  assert.equal(shareSpent({ limits: { tokens: 0, dollars: 0 }, spent: { tokens: 9e9, dollars: 9e9 } }), 0);
  assert.equal(
    shareSpent({ limits: { tokens: 100, dollars: 2 }, spent: { tokens: 50, dollars: 1.5 } }),
    0.75,
  );
});

test("a purse is empty where one of its limits is reached, and the widest scope is named first", () => {
  const spent = { tokens: 100, dollars: 0 };
  const person: Purse = { scope: "person", limits: { tokens: 100, dollars: 9 }, spent };
  const agent: Purse = { scope: "agent", limits: { tokens: 100, dollars: 0 }, spent };
  assert.equal(emptyPurse([person, agent]), agent);
  assert.equal(emptyPurse([person]), person);
  assert.equal(emptyPurse([{ ...person, spent: { tokens: 99, dollars: 8.99 } }]), null);
  fc.assert(
    fc.property(fc.array(purse), (purses) => {
      const empty = emptyPurse(purses);
      const isAnyReached = purses.some(
        ({ limits, spent: so }) =>
          (limits.tokens > 0 && so.tokens >= limits.tokens) ||
          (limits.dollars > 0 && so.dollars >= limits.dollars),
      );
      assert.equal(empty !== null, isAnyReached);
    }),
  );
});

test("spending crosses the warning once, however it is spent", () => {
  const steps = fc.array(amount, { maxLength: 30 });
  fc.assert(
    fc.property(purse, steps, (first, spendings) => {
      let now: Purse = { ...first, spent: { tokens: 0, dollars: 0 } };
      let warnings = 0;
      for (const one of spendings) {
        const next = { ...now, spent: added(now.spent, one) };
        if (crosses(now, next, 0.8)) warnings += 1;
        now = next;
      }
      assert.equal(warnings, shareSpent(now) >= 0.8 ? 1 : 0);
    }),
  );
});

test("a purse is told by the limits that it has", () => {
  const spent = { tokens: 82_000, dollars: 0.5 };
  assert.equal(describePurse({ limits: { tokens: 100_000, dollars: 0 }, spent }), "82,000 of 100,000 tokens");
  assert.equal(
    describePurse({ limits: { tokens: 100_000, dollars: 2 }, spent }),
    "82,000 of 100,000 tokens, $0.50 of $2.00",
  );
});
