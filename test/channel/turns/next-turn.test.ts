import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { nextTurn } from "../../../src/channel/turns/next-turn.ts";
import { usableTokens } from "../../../src/context/usage.ts";
import { dueMessages, settle } from "../../../src/core/history.ts";
import { budgetOf } from "../../context/agent.ts";
import { anySteps, Conversation } from "../../context/conversation.ts";

const roomy = budgetOf(100_000, 4000);

describe("what the next turn answers", () => {
  test("is nothing where nothing waits", () => {
    const talk = new Conversation();
    assert.equal(nextTurn(talk.history, roomy), null);
    talk.say("only listened to");
    assert.equal(nextTurn(talk.history, roomy), null);
    talk.say("@bot", { addressed: true });
    assert.equal(nextTurn(settle(talk.history, 2), roomy), null);
  });

  test("is all that waits, together, and ends with the last message that wants an answer", () => {
    const talk = new Conversation();
    talk.say("before");
    talk.say("@bot one", { addressed: true });
    talk.say("between");
    talk.say("@bot two", { addressed: true });
    talk.say("behind");
    assert.deepEqual(nextTurn(talk.history, roomy), { fromSeq: 2, toSeq: 4 });
  });

  test("is at most 100 messages, those that were listened to between them counted in", () => {
    const talk = new Conversation();
    for (let index = 0; index < 300; index++) talk.say("hi", { addressed: index % 2 === 0 });
    assert.deepEqual(nextTurn(talk.history, roomy), { fromSeq: 1, toSeq: 99 });
  });

  test("is the first message at least, however long it is", () => {
    const talk = new Conversation();
    talk.say("word ".repeat(40_000), { addressed: true });
    talk.say("short", { addressed: true });
    assert.deepEqual(nextTurn(talk.history, roomy), { fromSeq: 1, toSeq: 1 });
  });

  test("leaves room for an answer, and reaches everything that waits in the end", () => {
    const windows = fc.integer({ min: 4096, max: 20_000 });
    fc.assert(
      fc.property(anySteps({ maxLength: 60, longest: 4000 }), windows, (steps, window) => {
        const budget = budgetOf(window, 2048);
        let { history } = new Conversation().run(steps);
        const due = dueMessages(history).map(({ seq }) => seq);
        const answered: number[] = [];
        for (let range = nextTurn(history, budget); range !== null; range = nextTurn(history, budget)) {
          const { fromSeq, toSeq } = range;
          const taken = history.entries.filter(
            ({ seq, kind }) => kind === "user" && seq >= fromSeq && seq <= toSeq,
          );
          const tokens = taken.reduce((sum, entry) => sum + entry.tokens, 0);
          assert.ok(taken.length === 1 || tokens <= 0.4 * usableTokens(budget));
          answered.push(...due.filter((seq) => seq >= fromSeq && seq <= toSeq));
          assert.ok(toSeq > history.settledTo, "it goes on");
          history = settle(history, toSeq);
        }
        assert.deepEqual(answered, due);
      }),
    );
  });
});
