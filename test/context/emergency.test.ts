import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { nextTurn } from "../../src/channel/turns/next-turn.ts";
import { assemble } from "../../src/context/assemble.ts";
import { type Fit, fitContext, planOmission } from "../../src/context/emergency.ts";
import {
  type Budget,
  lastingDynamicTokens,
  leastRecalled,
  recalledTokens,
  usableTokens,
} from "../../src/context/usage.ts";
import type { Context } from "../../src/core/context.ts";
import { contextRequest } from "../../src/core/context-request.ts";
import type { EntryReference } from "../../src/core/entry.ts";
import { dueMessages, isCounted, legalCuts } from "../../src/core/history.ts";
import { assertPaired, budgetOf, sourcesOf } from "./agent.ts";
import { anySteps, anyText, Conversation, type Seen } from "./conversation.ts";

/** Tokens of what is in every request: prompt and tools. */
const FIXED = fixedPart();
/** A usable window of which they take half. */
const TIGHT = 2 * FIXED;

/** Of the accepted budgets those whose fixed part is under half of the usable window. */
const budgets = fc
  .tuple(
    fc.integer({ min: TIGHT + 100, max: 20_000 }),
    fc.integer({ min: 2396, max: 8000 }),
    fc.nat({ max: 30 }),
  )
  .map(([usable, reserve, keep]) => budgetOf(usable + reserve, reserve, keep));
const steps = anySteps({ maxLength: 120, longest: 30_000 });
const recalled: fc.Arbitrary<EntryReference[]> = fc.array(
  anyText(3000).map((text) => ({ seq: 1, at: new Date(0), author: "Zoë", text })),
  { maxLength: 6 },
);

function fixedPart(): number {
  const talk = new Conversation();
  talk.say("hello", { addressed: true });
  talk.begin();
  const context = assemble(sourcesOf(lastOf(talk)));
  return tokensOf(context, "tools") + tokensOf(context, "system");
}

function talkWithin(budget: Budget): Conversation {
  return new Conversation((history) => nextTurn(history, budget));
}

function lastOf(talk: Conversation): Seen {
  const seen = talk.seen.at(-1);
  assert.ok(seen !== undefined);
  return seen;
}

function tokensOf(context: Context, key: string): number {
  return context.segments.find((segment) => segment.key === key)?.tokens ?? 0;
}

/** What must hold of every fit. */
function assertFits(seen: Seen, budget: Budget, fit: Fit): void {
  const { history, turn } = seen;
  assertPaired(contextRequest(fit.context).messages);
  assert.equal(fit.overflows, fit.context.tokens > usableTokens(budget));
  if (fit.omitTo === null) {
    assert.equal(fit.history, history);
    return;
  }
  assert.ok(legalCuts(history.entries).has(fit.omitTo));
  assert.ok(fit.omitTo < turn.fromSeq, "the running turn stays");
  for (const { seq } of dueMessages(history)) assert.ok(seq > fit.omitTo, "what waits stays");
  assert.equal(fit.history.omittedTo, fit.omitTo);
  assert.equal(fit.history.omission?.toSeq ?? fit.omitTo, fit.omitTo);
}

describe("a context fitted into its window", () => {
  test("fits, whatever came in: huge texts, all scripts, many messages, tool results, what is recalled", () => {
    fc.assert(
      fc.property(steps, budgets, recalled, (all, budget, passages) => {
        for (const seen of talkWithin(budget).run(all).seen) {
          const fit = fitContext(sourcesOf(seen, passages), budget);
          assertFits(seen, budget, fit);
          assert.equal(fit.overflows, false);
        }
      }),
      { numRuns: 25 },
    );
  });

  test("fits in a channel that has been talking for long, and stays the same once it fits", () => {
    const text = fc.array(anyText(400), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 500 }), budgets, (texts, count, budget) => {
        const talk = talkWithin(budget);
        for (let index = 0; index < count; index++) {
          talk.say(texts[index % texts.length] ?? "", { addressed: index % 7 === 0, author: index });
          if (index % 9 === 0) talk.begin();
          if (index % 11 === 0) talk.settle("answer", texts.at(-1) ?? "");
        }
        talk.settle("skip", "");
        talk.say("and now?", { addressed: true });
        talk.begin();
        const seen = lastOf(talk);
        const fit = fitContext(sourcesOf(seen), budget);
        assertFits(seen, budget, fit);
        assert.equal(fit.overflows, false);
        const again = fitContext(sourcesOf({ ...seen, history: fit.history }), budget);
        assert.equal(again.overflows, false);
      }),
      { numRuns: 25 },
    );
  });
});

describe("what a fit takes away", () => {
  test("is left alone under the emergency threshold, and pruned only where that is enough", () => {
    const talk = new Conversation();
    talk.say("look at this", { addressed: true });
    talk.begin();
    const images = [{ messageId: "m1", images: [{ type: "image/png", base64: "iVBORw0KGgo=" }] }];
    const sources = { ...sourcesOf(lastOf(talk)), images };
    const plain = assemble(sources);
    const roomy = fitContext(sources, budgetOf(plain.tokens * 2, 100));
    assert.deepEqual(roomy.context, plain);
    const tight = fitContext(sources, budgetOf(plain.tokens + 100, 100));
    assert.equal(tight.omitTo, null);
    assert.equal(tight.tokensBefore, plain.tokens);
    assert.ok(tight.context.tokens < plain.tokens - 1000, "pictures go first");
  });

  test("shortens what a tool of the running turn found before it drops any of it", () => {
    const talk = new Conversation();
    talk.say("look", { addressed: true });
    talk.begin();
    talk.call(["{}"], "結果 ".repeat(30_000));
    const seen = lastOf(talk);
    const { context } = fitContext(sourcesOf(seen), budgetOf(20_000, 6144));
    assert.equal(context.segments.find(({ key }) => key === "turn")?.count, 2);
    assert.match(JSON.stringify(context), /結果 結果.*cut: .*結果/);
    assert.ok(context.tokens > 0.9 * 13_000, "and uses the room");
  });

  for (const [room, omitted] of [
    [700, 58],
    [540, 60],
  ] as const) {
    test(`omits even the newest messages where they, short as they are, leave no room for those to answer: ${omitted} of 60`, () => {
      const budget = budgetOf(FIXED + room + 2396, 2396, 100);
      const talk = talkWithin(budget);
      for (let index = 0; index < 60; index++) talk.say(`short ${index}`);
      for (let index = 0; index < 28; index++) talk.say(`well ${index}?`, { addressed: true });
      talk.begin();
      const seen = lastOf(talk);
      const fit = fitContext(sourcesOf(seen), budget);
      assertFits(seen, budget, fit);
      assert.equal(fit.overflows, false);
      assert.equal(fit.omitTo, omitted);
    });
  }

  test("drops the oldest calls of a turn that never stops calling, and keeps the question", () => {
    const talk = new Conversation();
    talk.say("look everywhere", { addressed: true });
    talk.begin();
    for (let step = 0; step < 9; step++) {
      talk.call(
        Array.from({ length: 64 }, () => `{"query":"${"何か ".repeat(50)}"}`),
        "結果 ".repeat(300),
      );
    }
    const seen = lastOf(talk);
    const budget = budgetOf(TIGHT + 6144, 6144);
    const fit = fitContext(sourcesOf(seen), budget);
    assertFits(seen, budget, fit);
    assert.equal(fit.overflows, false);
    assert.match(JSON.stringify(fit.context), /look everywhere/);
  });
});

describe("the parts that nobody can omit", () => {
  test("overflows only where the messages to answer, each at its shortest, are too much", () => {
    const budget = budgetOf(TIGHT + 2048, 2048);
    const fitOf = (talk: Conversation): Fit => {
      for (let index = 0; index < 300; index++) talk.say(`message number ${index}`, { addressed: true });
      talk.begin();
      return fitContext(sourcesOf(lastOf(talk)), budget);
    };
    assert.equal(fitOf(new Conversation()).overflows, true);
    assert.equal(fitOf(talkWithin(budget)).overflows, false);
  });

  test("gives what is recalled a bounded part of the room, so that recall hides nothing", () => {
    const talk = new Conversation();
    talk.say("what was the plan?", { addressed: true });
    talk.begin();
    const passage = { seq: 1, at: new Date(0), author: "千早", text: "計画は来週に決まります。".repeat(80) };
    const sources = sourcesOf(
      lastOf(talk),
      Array.from({ length: 6 }, () => passage),
    );
    const fit = fitContext(sources, budgetOf(TIGHT + 6144, 6144));
    assert.ok(tokensOf(assemble(sources), "dynamic") > TIGHT * 0.35 + 100);
    assert.ok(tokensOf(fit.context, "dynamic") < TIGHT * 0.35 + 100);
    assert.match(JSON.stringify(fit.context), /計画は来週/);
    assert.equal(fit.overflows, false);
  });
});

test("what is recalled for a question gives way to the conversation before any of it leaves the view", () => {
  const talk = new Conversation();
  for (let index = 0; index < 200; index++) talk.say(`message ${index} ${"words ".repeat(20)}`);
  talk.say("where is the key?", { addressed: true });
  talk.begin();
  const passages = Array.from({ length: 80 }, (_, index) => {
    return {
      seq: 2 * index + 1,
      at: new Date(0),
      author: "Ben",
      text: `${index} ${"mill race ".repeat(10)}`,
    };
  });
  const sources = sourcesOf(lastOf(talk), passages);
  const whole = assemble(sources);
  const most = recalledTokens(whole);
  const least = leastRecalled(10_000);
  assert.equal(least, 740);
  assert.ok(most > 2 * least, String(most));
  const withRoomFor = (room: number): Fit =>
    fitContext(sources, budgetOf(Math.ceil((whole.tokens - most + room) / 0.95) + 100, 100));
  const [roomy, lean, poor, full] = [most + 100, most / 2, least / 2, -200].map(withRoomFor);
  assert.ok(roomy !== undefined && lean !== undefined && poor !== undefined && full !== undefined);
  assert.equal(roomy.omitTo, null);
  assert.equal(recalledTokens(roomy.context), most);
  assert.equal(lean.omitTo, null, "nothing leaves the view for what is recalled");
  const left = recalledTokens(lean.context);
  assert.ok(left <= most / 2 && left >= least, String(left));
  assert.equal(poor.omitTo, null, "not even for the least of it");
  assert.ok(recalledTokens(poor.context) <= least / 2 && recalledTokens(poor.context) > 0);
  assert.notEqual(full.omitTo, null);
  assert.equal(lastingDynamicTokens(whole), tokensOf(whole, "dynamic") - most);
});

describe("an omission", () => {
  function chatter(messages: number): Seen {
    const talk = new Conversation();
    for (let index = 0; index < messages; index++) talk.say(`message ${index} ${"words ".repeat(20)}`);
    talk.say("and now?", { addressed: true });
    talk.begin();
    return lastOf(talk);
  }

  test("takes the oldest half at least, and more until the target is reached", () => {
    const seen = chatter(200);
    const { tokens } = assemble(sourcesOf(seen));
    const usable = Math.floor(tokens / 0.97);
    const fit = fitContext(sourcesOf(seen), budgetOf(usable + 100, 100));
    assert.ok(fit.omitTo !== null && fit.omitTo >= 100 && fit.omitTo < 115, `half of 200, not ${fit.omitTo}`);
    const small = budgetOf(6000, 1000);
    const smallFit = fitContext(sourcesOf(seen), small);
    assert.ok(smallFit.context.tokens <= 0.6 * 5000, "at or under the target");
    assert.ok(smallFit.context.tokens > 0.55 * 5000, "and not much under it");
  });

  test("reaches the target unless only what must be kept is left", () => {
    fc.assert(
      fc.property(steps, budgets, (all, budget) => {
        for (const seen of talkWithin(budget).run(all).seen) {
          const sources = sourcesOf(seen);
          const fit = fitContext(sources, budget);
          if (fit.omitTo === null || fit.context.tokens <= budget.target * usableTokens(budget)) continue;
          const { omitTo } = fit;
          const next = [...legalCuts(seen.history.entries)].find((cut) => cut > omitTo) ?? Infinity;
          if (next >= seen.turn.fromSeq) continue;
          const countedAfter = (seq: number): number =>
            seen.history.entries.filter(
              (entry) => isCounted(entry) && entry.seq > seq && entry.seq < seen.turn.fromSeq,
            ).length;
          const { keepMessages } = budget;
          const isAtTheRest = countedAfter(omitTo) <= keepMessages || countedAfter(next) < keepMessages;
          assert.ok(isAtTheRest, "one group more could have gone");
        }
      }),
      { numRuns: 20 },
    );
  });

  test("spares the newest messages where they are small, and nothing else that is settled", () => {
    const seen = chatter(200);
    const budget = budgetOf(5000, 1000, 5);
    const sources = sourcesOf(seen);
    const fit = fitContext(sources, { ...budget, target: 0.01 });
    assert.equal(fit.omitTo, 195);
    assert.equal(planOmission(sources, { ...budget, target: 0.01, keepMessages: 0 }, 1e6), 200);
  });

  test("leaves what still waits, though it is older than the running turn", () => {
    const talk = new Conversation((history) => ({ fromSeq: history.lastSeq, toSeq: history.lastSeq }));
    for (let index = 0; index < 40; index++) talk.say("words ".repeat(100), { addressed: index === 20 });
    talk.begin();
    const fit = fitContext(sourcesOf(lastOf(talk)), budgetOf(5000, 1000));
    assert.equal(fit.omitTo, 20);
  });
});
