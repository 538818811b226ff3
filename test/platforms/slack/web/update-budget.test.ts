import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { UpdateBudget } from "../../../../src/platforms/slack/web/update-budget.ts";

/** What Slack counts: updates of a workspace in any minute. */
const ALLOWED = 50;

interface Answer {
  readonly key: string;
  readonly from: number;
  /** When its text is whole. */
  readonly to: number;
  pieces: number;
}

/** Plays answers that are asked every 100 ms whether they may show a piece. @returns when updates were made */
function play(answers: readonly Answer[]): number[] {
  let now = 0;
  const budget = new UpdateBudget(() => now);
  const updates: number[] = [];
  const end = Math.max(...answers.map(({ to }) => to));
  for (; now <= end; now += 100) {
    for (const answer of answers) {
      if (now < answer.from || now > answer.to) continue;
      const isFinal = now === answer.to;
      if (!isFinal && !budget.mayShow(answer.key)) continue;
      // The first thing that is shown is a post, which is counted elsewhere; so is an answer that showed no piece.
      if (answer.pieces > 0) {
        updates.push(now);
        budget.updated(answer.key, isFinal);
      } else if (isFinal) {
        budget.ended(answer.key);
      }
      answer.pieces += 1;
    }
  }
  return updates;
}

function mostInAMinute(updates: readonly number[]): number {
  let first = 0;
  let most = 0;
  for (const [index, at] of updates.entries()) {
    while (at - (updates[first] ?? 0) >= 60_000) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** So many people who ask again as soon as they have their answer, each of which takes 8 s to write. */
function talk(people: number, minutes: number): Answer[] {
  const each = Math.floor((minutes * 60_000) / 8500);
  return Array.from({ length: people * each }, (_, index) => {
    const from = Math.floor(index / people) * 8500 + (index % people) * 100;
    return { key: String(index), from, to: from + 8000, pieces: 0 };
  });
}

describe("Slack's updates of one workspace", () => {
  for (const people of [1, 2, 4, 8, 200]) {
    test(`are no more than it allows while ${people} people ask on and on, and no final text waits`, () => {
      const answers = talk(people, 4);
      // By construction each final text is given at once: what is to be seen is that Slack takes it.
      assert.ok(mostInAMinute(play(answers)) <= ALLOWED);
    });
  }

  test("go to the pieces of a lone answer every one and a half seconds", () => {
    const [answer] = [{ key: "a", from: 0, to: 30_000, pieces: 0 }];
    play([answer]);
    assert.equal(answer.pieces, 21);
  });

  test("are shared alike by the answers that are written at once", () => {
    const answers = Array.from({ length: 5 }, (_, index) => ({
      key: String(index),
      from: 0,
      to: 60_000,
      pieces: 0,
    }));
    play(answers);
    const pieces = answers.map((answer) => answer.pieces);
    assert.ok(Math.min(...pieces) >= 5 && Math.max(...pieces) - Math.min(...pieces) <= 2, String(pieces));
  });

  test("are never more than it allows, whoever asks when", () => {
    const one = fc.record({ from: fc.nat(1200), takes: fc.nat(600) });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 60 }), (some) => {
        const answers = some.map(({ from, takes }, index) => ({
          key: String(index),
          from: from * 100,
          to: (from + takes) * 100,
          pieces: 0,
        }));
        assert.ok(mostInAMinute(play(answers)) <= ALLOWED);
      }),
    );
  });

  test("show nothing for as long as Slack says, and answers that ended some other way are forgotten", () => {
    let now = 0;
    const budget = new UpdateBudget(() => now);
    budget.limited(30_000);
    assert.equal(budget.mayShow("a"), false);
    now = 30_000;
    for (let index = 0; index < 40; index++) assert.equal(budget.mayShow(String(index)), true);
    assert.equal(budget.mayShow("one more"), false);
    budget.ended("3");
    assert.equal(budget.mayShow("one more"), true);
    now = 640_000;
    assert.equal(budget.mayShow("much later"), true);
  });
});
