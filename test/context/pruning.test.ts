import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { assemble } from "../../src/context/assemble.ts";
import { fitContext } from "../../src/context/emergency.ts";
import { type Pruning, stubbedTo } from "../../src/context/pruning.ts";
import type { Context } from "../../src/core/context.ts";
import { contextRequest } from "../../src/core/context-request.ts";
import { budgetOf, sourcesOf } from "./agent.ts";
import { Conversation, type Seen } from "./conversation.ts";

const RESULT = "a long result, which nobody needs to read for ever. ".repeat(30);

/** Turns that each call so many tools. */
function turns(calls: readonly number[]): readonly Seen[] {
  const talk = new Conversation();
  for (const [number, count] of calls.entries()) {
    talk.say(`question ${number}`, { addressed: true });
    talk.begin();
    if (count > 0)
      talk.call(
        Array.from({ length: count }, () => "{}"),
        RESULT,
      );
    talk.settle("answer", `answer ${number}`);
  }
  return talk.seen;
}

function stable(context: Context): string[] {
  return context.segments
    .filter(({ key }) => key === "system" || key === "history")
    .flatMap(({ messages }) => messages.map((message) => JSON.stringify(message)));
}

function shortIn(context: Context): number {
  return contextRequest(context).messages.filter(({ text }) => text.endsWith("characters in all]")).length;
}

const anyPruning = fc.record({
  wholeTurns: fc.integer({ min: 1, max: 6 }),
  stepTurns: fc.integer({ min: 1, max: 5 }),
  fromTokens: fc.constant(0),
});

test("the prefix changes once in so many turns, and the results of the newest turns stay whole, of those alone", () => {
  fc.assert(
    fc.property(
      anyPruning,
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 5, maxLength: 30 }),
      (pruning, calls) => {
        let before: string[] = [];
        let changes = 0;
        for (const seen of turns(calls)) {
          const now = stable(assemble({ ...sourcesOf(seen), pruning }));
          if (before.some((message, index) => message !== now[index])) changes++;
          before = now;
          const entries = seen.history.entries.filter(
            (entry) => !("turnId" in entry) || entry.turnId !== seen.turn.id,
          );
          const earlier = entries.filter((entry) => entry.kind === "tool_result");
          const ended = [
            ...new Set(entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.turnId] : []))),
          ];
          const newest = new Set(ended.slice(-pruning.wholeTurns));
          const mayBeWhole = new Set(ended.slice(1 - pruning.wholeTurns - pruning.stepTurns));
          const to = stubbedTo(entries, pruning);
          for (const { seq, turnId } of earlier) {
            if (newest.has(turnId)) assert.ok(seq > to, "whole");
            if (!mayBeWhole.has(turnId)) assert.ok(seq <= to, "short");
          }
        }
        assert.ok(changes <= Math.floor(calls.length / pruning.stepTurns), `${changes} changes`);
      },
    ),
    { numRuns: 60 },
  );
});

test("turns that called no tools count, too, and those that failed", () => {
  const talk = new Conversation();
  for (const way of ["answer", "answer", "fail"] as const) {
    talk.say("a question", { addressed: true });
    talk.begin();
    if (talk.seen.length === 1) talk.call(["{}"], RESULT);
    talk.settle(way, "so");
  }
  talk.say("a question", { addressed: true });
  talk.begin();
  const last = talk.seen.at(-1);
  assert.ok(last !== undefined);
  const shorten = (wholeTurns: number): number =>
    shortIn(assemble({ ...sourcesOf(last), pruning: { wholeTurns, stepTurns: 1, fromTokens: 0 } }));
  assert.deepEqual([1, 2, 3].map(shorten), [1, 1, 0]);
});

test("by default a result is short from the next turn on, and the prefix never changes", () => {
  let before: string[] = [];
  for (const seen of turns([1, 1, 0, 2, 1])) {
    const now = stable(assemble(sourcesOf(seen)));
    assert.deepEqual(now.slice(0, before.length), before);
    before = now;
  }
});

test("below the threshold all results are whole, and from there on as the agent is to keep them", () => {
  const last = turns([1, 1, 1, 1, 1, 1]).at(-1);
  assert.ok(last !== undefined);
  const of = (pruning: Pruning): Context => assemble({ ...sourcesOf(last), pruning });
  const whole = of({ wholeTurns: 0, stepTurns: 1, fromTokens: 1_000_000 });
  assert.equal(shortIn(whole), 0);
  const short = of({ wholeTurns: 0, stepTurns: 1, fromTokens: whole.tokens });
  assert.equal(shortIn(short), 5);
  assert.equal(shortIn(of({ wholeTurns: 2, stepTurns: 1, fromTokens: whole.tokens })), 3);
  assert.equal(shortIn(of({ wholeTurns: 2, stepTurns: 2, fromTokens: 0 })), 2);
});

test("what does not fit is made short before any message is left out", () => {
  const last = turns(Array.from({ length: 12 }, () => 1)).at(-1);
  assert.ok(last !== undefined);
  const pruning = { wholeTurns: 50, stepTurns: 1, fromTokens: 0 };
  const sources = { ...sourcesOf(last), pruning };
  const whole = assemble(sources).tokens;
  const fit = fitContext(sources, budgetOf(Math.floor(whole * 0.9), 0));
  assert.equal(fit.omitTo, null);
  assert.equal(shortIn(fit.context), 11);
});
