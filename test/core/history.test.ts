// proves: src/core/entry.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import type { Entry } from "../../src/core/entry.ts";
import {
  appendEntries,
  begunTo,
  dueMessages,
  type History,
  isCounted,
  legalCuts,
  omit,
  rawFrom,
  settle,
  turnView,
  viewOrder,
} from "../../src/core/history.ts";
import { anySteps, Conversation } from "../context/conversation.ts";

const steps = anySteps({ maxLength: 60, longest: 80 });

function seqs(entries: readonly Entry[]): number[] {
  return entries.map(({ seq }) => seq);
}

/** A conversation in which one tool was called while others went on talking. */
function interrupted(): Conversation {
  const talk = new Conversation();
  talk.say("earlier");
  talk.say("@bot how many?", { addressed: true });
  talk.begin();
  talk.call(["{}", "{}"], "42", true);
  talk.settle("answer", "42");
  talk.say("thanks");
  return talk;
}

function assertPairs(entries: readonly Entry[]): void {
  let waiting: string[] = [];
  for (const entry of entries) {
    if (entry.kind === "tool_result") {
      assert.equal(entry.callId, waiting.shift(), "a result follows its call, in order");
      continue;
    }
    assert.deepEqual(waiting, [], "every call has its results right behind it");
    if (entry.kind === "tool_call") waiting = entry.calls.map(({ id }) => id);
  }
  assert.deepEqual(waiting, []);
}

describe("the order of the view", () => {
  test("is a turn's message, its calls with their results, its answer, and only then what came meanwhile", () => {
    const { history } = interrupted();
    assert.deepEqual(
      history.entries.map(({ kind }) => kind),
      [
        "user",
        "user",
        "tool_call",
        "user",
        "tool_result",
        "user",
        "tool_result",
        "user",
        "assistant",
        "user",
      ],
    );
    assert.deepEqual(seqs(viewOrder(history.entries)), [1, 2, 3, 5, 7, 9, 4, 6, 8, 10]);
  });

  test("keeps every call directly followed by its results, and is a permutation that ends with the newest words", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { entries } = new Conversation().run(all).history;
        const view = viewOrder(entries);
        assertPairs(view);
        assert.deepEqual(
          seqs(view).toSorted((a, b) => a - b),
          seqs(entries),
        );
        const spoken = view.filter(({ kind }) => kind === "user");
        assert.deepEqual(
          seqs(spoken),
          seqs(spoken).toSorted((a, b) => a - b),
        );
      }),
    );
  });

  test("does not depend on the order in which entries are handed in", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { entries } = new Conversation().run(all).history;
        assert.deepEqual(viewOrder(entries.toReversed()), viewOrder(entries));
      }),
    );
  });
});

describe("a turn's view", () => {
  test("has what was before, what it answers, and what it has done; not what came meanwhile", () => {
    const talk = new Conversation();
    talk.say("before");
    talk.say("@bot first", { addressed: true });
    talk.say("between");
    talk.say("@bot second", { addressed: true });
    talk.begin();
    talk.say("meanwhile", { addressed: true });
    talk.call(["{}"], "found");
    const seen = talk.seen.at(-1);
    assert.ok(seen !== undefined);
    const view = turnView(seen.history, seen.turn);
    assert.deepEqual([view.before, view.due, view.own].map(seqs), [[1], [2, 3, 4], [6, 7]]);
  });

  test("has what it has taken in behind the results after which it came, now and in later turns", () => {
    const talk = new Conversation();
    talk.say("@bot first", { addressed: true });
    talk.begin();
    talk.call(["{}"], "found");
    talk.say("by the way", {});
    talk.say("no, the other", { addressed: true });
    talk.steer();
    talk.call(["{}"], "found too");
    const seen = talk.seen.at(-1);
    assert.ok(seen !== undefined);
    const view = turnView(seen.history, seen.turn);
    assert.deepEqual([view.before, view.due, view.own].map(seqs), [[], [1], [2, 3, 4, 5, 6, 7]]);
    assert.equal(begunTo(seen.history, seen.turn), 1);
    talk.settle("answer", "It is the other.");
    assert.equal(talk.history.settledTo, 5);
    assert.deepEqual(seqs(viewOrder(talk.history.entries)), [1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("has nothing of an earlier turn of the stand-in, and all of its own", () => {
    const talk = interrupted();
    talk.say("@bot and now?", { addressed: true });
    talk.begin();
    talk.call(["{}"], "43");
    const seen = talk.seen.at(-1);
    assert.ok(seen !== undefined);
    const byStandIn = seen.history.entries.map((entry) =>
      "turnId" in entry ? { ...entry, standIn: true as const } : entry,
    );
    const view = turnView({ ...seen.history, entries: byStandIn }, seen.turn);
    assert.ok(view.before.length > 1 && view.before.every(({ kind }) => kind === "user"));
    assert.deepEqual(
      view.own.map(({ kind }) => kind),
      ["tool_call", "tool_result"],
    );
  });

  test("never shows an entry twice, and misses only what came after the turn's last message", () => {
    fc.assert(
      fc.property(steps, (all) => {
        for (const { history, turn } of new Conversation().run(all).seen) {
          const { before, due, own } = turnView(history, turn);
          const shown = new Set(seqs([...before, ...due, ...own]));
          assert.equal(shown.size, before.length + due.length + own.length);
          for (const entry of history.entries) assert.ok(shown.has(entry.seq) || entry.seq > turn.toSeq);
        }
      }),
    );
  });
});

/** I1: every seq is omitted or raw, and in one of them only. Nothing is covered here. */
function assertTiling(history: History, all: readonly Entry[]): void {
  assert.deepEqual(
    seqs(history.entries),
    seqs(all).filter((seq) => seq >= rawFrom(history)),
  );
  const gone = all.filter(({ seq }) => seq <= history.omittedTo);
  const counted = gone.filter(isCounted);
  assert.equal(history.omission?.count ?? 0, counted.length);
  if (history.omission === null) return;
  assert.equal(history.omission.fromSeq, 1);
  assert.equal(history.omission.toSeq, history.omittedTo);
  assert.equal(
    history.omission.tokens,
    gone.reduce((sum, { tokens }) => sum + tokens, 0),
  );
  const times = counted.map(({ at }) => at.getTime());
  assert.equal(history.omission.firstAt.getTime(), Math.min(...times));
  assert.equal(history.omission.lastAt.getTime(), Math.max(...times));
}

describe("cuts, omissions and appends", () => {
  test("a legal cut parts no call from its results", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { entries } = new Conversation().run(all).history;
        for (const cut of legalCuts(entries)) {
          assertPairs(viewOrder(entries.filter(({ seq }) => seq <= cut)));
          assertPairs(viewOrder(entries.filter(({ seq }) => seq > cut)));
        }
      }),
    );
  });

  test("a cut between a call and its last result is not legal, whatever stands between them", () => {
    assert.deepEqual([...legalCuts(interrupted().history.entries)], [1, 2, 7, 8, 9, 10]);
  });

  test("every entry stays in exactly one place, however omissions and appends alternate", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(steps, fc.nat()), { maxLength: 4 }), (rounds) => {
        const talk = new Conversation();
        const all: Entry[] = [];
        for (const [round, pick] of rounds) {
          const before = talk.history.lastSeq;
          talk.run(round);
          all.push(...talk.history.entries.filter(({ seq }) => seq > before));
          const cuts = [...legalCuts(talk.history.entries)];
          const cut = cuts[pick % (cuts.length + 1)];
          const { omittedTo } = talk.history;
          if (cut !== undefined) talk.history = omit(talk.history, cut);
          assert.ok(talk.history.omittedTo >= omittedTo);
          assertTiling(talk.history, all);
        }
      }),
    );
  });

  test("an omission that splits a call from its results is a mistake of the program; an old one changes nothing", () => {
    const { history } = interrupted();
    assert.throws(() => omit(history, 5), /splits a call/);
    const left = omit(history, 8);
    assert.equal(omit(left, 7), left);
  });

  test("an entry that is not the next one is a mistake of the program", () => {
    const { history } = interrupted();
    const [first] = history.entries;
    assert.ok(first !== undefined);
    assert.throws(() => appendEntries(history, [first]), /entry 1 follows 10/);
    assert.throws(() => appendEntries(history, [{ ...first, seq: 12 }]), /entry 12 follows 10/);
    assert.equal(appendEntries(history, []), history);
  });

  test("what is settled stays settled", () => {
    fc.assert(
      fc.property(steps, fc.array(fc.nat({ max: 70 })), (all, marks) => {
        let { history } = new Conversation().run(all);
        for (const mark of marks) {
          const next = settle(history, mark);
          assert.equal(next.settledTo, Math.max(history.settledTo, mark));
          assert.ok(dueMessages(next).length <= dueMessages(history).length);
          assert.ok(dueMessages(next).every(({ seq, addressed }) => addressed && seq > next.settledTo));
          history = next;
        }
      }),
    );
  });
});
