import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type CacheState, type CompactionState, decide } from "../../../src/compactor/policy/policy.ts";
import { type History, omit } from "../../../src/core/history.ts";
import { Conversation } from "../../context/conversation.ts";
import { commit, land, type Room, rawHistory, stateOf, summariesOf, told } from "../channel.ts";

const PLENTY: Room = { usable: 100_000 };
/** So much that a hundred messages of 20 tokens take this share. */
const filledTo = (share: number): Room => ({ usable: 2000 / share });

/** Eighty entries are covered by summaries of these levels, forty messages are raw. */
function summarised(levels: readonly number[], values: Parameters<typeof summariesOf>[1] = {}): History {
  const summaries = summariesOf(levels, values);
  return rawHistory(40, { summaries, coveredTo: summaries.at(-1)?.toSeq ?? 0 });
}

/** Of a hundred messages so many are omitted. */
function omitted(count: number): History {
  return omit(rawHistory(100), count);
}

const HUNDRED = rawHistory(100);
const REDO = { needsRedo: true };
/** Rooms that so many summaries of 30 tokens with their labels use, but for less than one more of 40. */
const FOUR = { summaryRoom: 350 };
const FIVE = { summaryRoom: 420 };
const SIX = { summaryRoom: 490 };
/** A hundred messages of 20 tokens with so many more kept free. */
const keeping = (recallTokens: number): Partial<CompactionState> => ({
  tokens: 2000 + recallTokens,
  recallTokens,
});
const CUT = { cutShort: "background" } as const;
const CUT_BY_PERSON = { cutShort: "forced" } as const;

const DUE: readonly (readonly [
  what: string,
  history: History,
  room: Room,
  values: Partial<CompactionState>,
  decision: string,
])[] = [
  ["nothing in an empty channel", rawHistory(0), PLENTY, {}, "idle"],
  ["nothing under the threshold", HUNDRED, filledTo(0.799), {}, "idle"],
  ["nothing more of a leaf that was cut short at its target", HUNDRED, filledTo(0.59), CUT, "idle"],
  ["the rest of it above that, and no more", HUNDRED, filledTo(0.7), CUT, "leaf background 1-22 at 1"],
  ["all of the rest where a person asked", HUNDRED, PLENTY, CUT_BY_PERSON, "leaf forced 1-95 at 1"],
  ["nothing of it while the model rests", HUNDRED, filledTo(0.7), { ...CUT, isResting: true }, "idle"],
  ["background from 80 %", HUNDRED, filledTo(0.8), {}, "leaf background 1-36 at 1"],
  ["background under 85 %", HUNDRED, filledTo(0.849), {}, "leaf background 1-40 at 1"],
  ["aggressive from 85 %", HUNDRED, filledTo(0.85), {}, "leaf aggressive 1-60 at 1"],
  ["background by what is kept free", HUNDRED, filledTo(0.7), keeping(430), "leaf background 1-48 at 1"],
  ["nothing urgent by it", HUNDRED, filledTo(0.7), { ...keeping(430), isResting: true }, "idle"],
  ["aggressive beside it", HUNDRED, filledTo(0.85), keeping(350), "leaf aggressive 1-61 at 1"],
  ["background by count", HUNDRED, { ...PLENTY, maxRawMessages: 100 }, {}, "leaf background 1-36 at 1"],
  ["nothing under the count", HUNDRED, { ...PLENTY, maxRawMessages: 101 }, {}, "idle"],
  [
    "what a person asks for, up to what is kept",
    HUNDRED,
    PLENTY,
    { isForced: true },
    "leaf forced 1-95 at 1",
  ],
  ["an omitted range, whatever the usage", omitted(30), PLENTY, {}, "leaf emergency 1-30 at 1"],
  ["an omitted range, and half of the rest", omitted(30), filledTo(1.3), {}, "leaf emergency 1-72 at 1"],
  [
    "what is asked for covers an omitted range",
    omitted(30),
    PLENTY,
    { isForced: true },
    "leaf forced 1-95 at 1",
  ],
  [
    "summaries without room for one more",
    summarised([1, 1, 1, 1]),
    PLENTY,
    FOUR,
    "merge background 1-30 at 2",
  ],
  ["those with room are left alone", summarised([1, 1, 1, 1]), PLENTY, {}, "idle"],
  [
    "all but the newest of a level",
    summarised([2, 1, 1, 1, 1, 1]),
    PLENTY,
    SIX,
    "merge background 11-50 at 2",
  ],
  ["the lowest level first", summarised([2, 2, 2, 2, 1, 1, 1, 1]), PLENTY, {}, "merge background 41-70 at 2"],
  [
    "into the top level goes what is there",
    summarised([3, 2, 2, 2, 2]),
    PLENTY,
    FIVE,
    "merge background 1-40 at 3",
  ],
  ["the first of the top level", summarised([2, 2, 2, 2]), PLENTY, FOUR, "merge background 1-30 at 3"],
  ["what is to be written again", summarised([2, 1], REDO), PLENTY, {}, "redo background 1-10 at 2"],
  ["a merge before a redo", summarised([1, 1, 1, 1], REDO), PLENTY, FOUR, "merge background 1-30 at 2"],
];

describe("what is due", () => {
  for (const [what, history, room, values, decision] of DUE) {
    test(what, () => assert.equal(told(decide(stateOf(history, room, values))), decision));
  }
});

describe("the order of decisions", () => {
  test("a reset is neither counted, nor merged, nor written again", () => {
    const [first, ...others] = summariesOf([1, 1, 1, 1]);
    assert.ok(first !== undefined);
    const reset = { ...first, kind: "reset", needsRedo: true } as const;
    const history = rawHistory(20, { summaries: [reset, ...others], coveredTo: 40 });
    assert.equal(told(decide(stateOf(history, PLENTY))), "idle");
    const later = rawHistory(20, {
      summaries: [reset, ...summariesOf([1, 1, 1, 1, 1]).slice(1)],
      coveredTo: 50,
    });
    assert.equal(told(decide(stateOf(later, PLENTY, FOUR))), "merge background 11-40 at 2");
  });

  test("summaries with a gap between them are not merged", () => {
    const summaries = summariesOf([1, 1, 1, 1, 1]).toSpliced(2, 1);
    assert.equal(told(decide(stateOf(rawHistory(9, { summaries, coveredTo: 50 }), PLENTY))), "idle");
  });

  test("at eight live summaries the merge comes before all else", () => {
    const full = summarised([2, 2, 2, 1, 1, 1, 1, 1]);
    const merge = "merge background 31-70 at 2";
    const tight = { usable: 500 };
    for (const isForced of [false, true]) {
      for (const isResting of [false, true]) {
        assert.equal(told(decide(stateOf(full, tight, { isForced, isResting }))), merge);
      }
    }
    assert.equal(told(decide(stateOf(omit(full, 100), tight))), merge);
    const stuck = summarised([3, 3, 2, 2, 2, 1, 1, 1]);
    assert.equal(told(decide(stateOf(stuck, tight))), "merge background 1-40 at 3");
    const roomy = { ...tight, summaryCap: 200 };
    const short = summarised([2, 2, 1, 1, 1, 1, 1, 1]);
    assert.equal(
      told(decide(stateOf(short, roomy))),
      "merge background 21-70 at 2",
      "the level with the most, if none has used its share",
    );
  });

  test("where the summaries have used their room, a merge comes before a leaf, and is as urgent", () => {
    // Three of 30 tokens and a label are 210, and one more of 130 does not fit.
    const tight = { usable: 1100, summaryCap: 90 };
    const state = stateOf(summarised([1, 1, 1]), tight, { summaryRoom: 330 });
    assert.equal(told(decide(state)), "merge background 1-20 at 2");
    const aggressive = stateOf(summarised([1, 1, 1]), { ...tight, usable: 1000 }, { summaryRoom: 330 });
    assert.equal(told(decide(aggressive)), "merge aggressive 1-20 at 2");
    const asked = { ...aggressive, isForced: true };
    assert.equal(told(decide(asked)), "merge aggressive 1-20 at 2", "it is not the answer to who asked");
    const alone = stateOf(summarised([3, 1]), { ...tight, usable: 950 }, { summaryRoom: 200 });
    assert.match(told(decide(alone)), /^leaf aggressive/, "there is nothing to merge");
  });

  test("the order of what is due", () => {
    const levels = summarised([1, 1, 1, 1], { needsRedo: true });
    // 800 tokens of messages, 120 of summaries.
    assert.match(told(decide(stateOf(levels, { usable: 1000 }))), /^leaf aggressive/);
    assert.match(told(decide(stateOf(levels, { usable: 1140 }, FOUR))), /^merge background/);
    assert.match(told(decide(stateOf(omit(levels, 50), { usable: 1000 }))), /^leaf emergency 41-/);
    assert.match(told(decide(stateOf(omit(levels, 50), PLENTY, { isForced: true }))), /^leaf forced/);
    const redo = summarised([1, 1], { needsRedo: true });
    assert.match(told(decide(stateOf(redo, { usable: 1060 }))), /^leaf background/);
  });
});

describe("what waits, and what does not", () => {
  test("a long range is written in stretches, also where the tier is reached already", () => {
    const stretches = { ...filledTo(0.8), stretchTokens: 300 };
    assert.equal(told(decide(stateOf(HUNDRED, stretches))), "leaf background 1-18 at 1, ahead");
    const twice = { ...filledTo(0.8), stretchTokens: 500 };
    assert.equal(
      told(decide(stateOf(HUNDRED, twice))),
      "leaf background 1-36 at 1, ahead",
      "two would be as much",
    );
  });

  test("a leaf that would tell little waits for more, unless room or places run out", () => {
    const least = { leastOfLeaf: 1000 };
    // A third of the hundred would be enough for the tier; 1,000 tokens are fifty, and the silence is looked for behind them.
    assert.equal(told(decide(stateOf(HUNDRED, filledTo(0.8), least))), "leaf background 1-60 at 1");
    const more = { leastOfLeaf: 1950 };
    assert.match(told(decide(stateOf(HUNDRED, filledTo(0.85), more))), /^blocked/);
    assert.match(told(decide(stateOf(omitted(10), filledTo(0.85), more))), /^leaf emergency/);
    assert.match(told(decide(stateOf(HUNDRED, PLENTY, { ...more, isForced: true }))), /^leaf forced/);
    const byCount = { ...PLENTY, maxRawMessages: 100 };
    assert.match(told(decide(stateOf(HUNDRED, byCount, more))), /^leaf background/);
  });

  test("while it rests, only what cannot wait is done", () => {
    const rest = { isResting: true };
    assert.equal(told(decide(stateOf(HUNDRED, filledTo(0.84), rest))), "idle");
    assert.equal(told(decide(stateOf(HUNDRED, { ...PLENTY, maxRawMessages: 50 }, rest))), "idle");
    assert.equal(told(decide(stateOf(summarised([1, 1, 1, 1], REDO), PLENTY, rest))), "idle");
    assert.match(told(decide(stateOf(HUNDRED, filledTo(0.85), rest))), /^leaf aggressive/);
    assert.match(told(decide(stateOf(omitted(10), PLENTY, rest))), /^leaf emergency/);
    assert.match(told(decide(stateOf(HUNDRED, PLENTY, { ...rest, isForced: true }))), /^leaf forced/);
  });

  test("switched off, only what a person asks for is done", () => {
    const off = (history: History, values: Partial<CompactionState> = {}): string => {
      const state = stateOf(history, { usable: 500 }, values);
      return told(decide({ ...state, rules: { ...state.rules, enabled: false } }));
    };
    assert.equal(off(HUNDRED), "idle");
    assert.equal(off(omitted(50)), "idle");
    assert.equal(off(summarised([1, 1, 1, 1, 1, 1, 1, 1], REDO)), "idle");
    assert.match(off(HUNDRED, { isForced: true }), /^leaf forced/);
  });

  test("the tokens of what is covered are its source's", () => {
    const sourceOf = (state: CompactionState): number | null => {
      const decision = decide(state);
      return decision.kind === "job" ? decision.plan.sourceTokens : null;
    };
    assert.equal(sourceOf(stateOf(HUNDRED, filledTo(0.8))), 36 * 20);
    assert.equal(sourceOf(stateOf(omitted(30), PLENTY)), 30 * 20);
    assert.equal(sourceOf(stateOf(omitted(30), filledTo(1.3))), 72 * 20);
    assert.equal(sourceOf(stateOf(summarised([1, 1, 1, 1]), PLENTY, FOUR)), 3 * 30);
    assert.equal(sourceOf(stateOf(summarised([1], REDO), PLENTY)), 30);
  });
});

describe("what is due and cannot be done", () => {
  const reasonOf = (state: CompactionState): string => {
    const decision = decide(state);
    return decision.kind === "blocked" ? `${decision.tier}: ${decision.reason}` : told(decision);
  };

  test("says why", () => {
    const full: Room = { usable: 200 };
    const few = rawHistory(5);
    assert.match(
      reasonOf(stateOf(few, { usable: 1100, fixed: 1000 })),
      /^aggressive: .*newest messages, which are kept/,
    );
    assert.match(reasonOf(stateOf(few, PLENTY, { isForced: true })), /^forced: .*newest messages/);
    assert.match(
      reasonOf(stateOf(rawHistory(40), full, { firstKept: 1 })),
      /^aggressive: .*wait for their answer/,
    );
    assert.match(
      reasonOf(stateOf(rawHistory(9), PLENTY, { isForced: true })),
      /^forced: .*too little: about 80 tokens/,
    );
    assert.match(told(decide(stateOf(rawHistory(10), PLENTY, { isForced: true }))), /^leaf forced 1-5/);

    const talk = new Conversation();
    talk.say("begin", { addressed: true });
    talk.begin();
    talk.call(["{}"], "result");
    const entries = talk.history.entries.filter(({ kind }) => kind !== "tool_result" && kind !== "user");
    const open = {
      ...talk.history,
      entries: [...entries, ...rawHistory(30, { coveredTo: 3 }).entries],
      lastSeq: 33,
    };
    assert.match(
      reasonOf(stateOf({ ...open, coveredTo: 1 }, full)),
      /^aggressive: a tool call .* waits for its result/,
    );
  });

  test("does not hold up what can be done", () => {
    const history = summarised([1, 1, 1, 1]);
    assert.match(told(decide(stateOf(history, { usable: 500 }, { firstKept: 41, ...FOUR }))), /^merge/);
    const digest = summarised([1, 1], { needsRedo: true });
    assert.match(told(decide(stateOf(digest, { usable: 500 }, { firstKept: 21 }))), /^redo/);
    assert.equal(
      told(decide(stateOf(digest, { usable: 500 }, { firstKept: 21, isResting: true }))),
      "blocked aggressive",
    );
  });

  test("an omitted range is covered, be it ever so little or nothing but notices", () => {
    assert.equal(told(decide(stateOf(omitted(1), PLENTY))), "leaf emergency 1-1 at 1");
    const unknown = { ...omitted(1), omission: null };
    assert.equal(told(decide(stateOf(unknown, PLENTY))), "leaf emergency 1-1 at 1");
    const waiting = stateOf(omitted(30), { usable: 100 }, { firstKept: 31 });
    assert.equal(told(decide(waiting)), "leaf emergency 1-30 at 1");
  });
});

describe("a summary that a person wants written again", () => {
  const wants = (fromSeq: number, toSeq: number, history: History, values: Partial<CompactionState> = {}) =>
    decide(stateOf(history, filledTo(0.99), { redoOf: { fromSeq, toSeq }, ...values }));

  test("comes before all else, also while the model rests or nothing is compacted by itself", () => {
    const full = summarised([1, 1, 1, 1]);
    assert.equal(told(wants(11, 20, full, { isForced: true, isResting: true })), "redo forced 11-20 at 1");
    assert.equal(told(wants(1, 10, summarised([2, 1]))), "redo forced 1-10 at 2");
  });

  test("is blocked where it is none any more: another one covers its entries, or a reset", () => {
    for (const history of [summarised([1]), summarised([1, 1], { kind: "reset", text: "" })]) {
      const decision = wants(11, 20, history);
      assert.ok(decision.kind === "blocked");
      assert.equal(decision.reason, "another summary covers its messages by now");
    }
  });

  test("is blocked where a merged one of it waits: that was made of the text as it was", () => {
    const ahead = [{ kind: "merge", fromSeq: 1, toSeq: 20 }] as const;
    const decision = wants(11, 20, { ...summarised([1, 1, 1]), ahead });
    assert.ok(decision.kind === "blocked");
    assert.match(decision.reason, /about to take its place/);
    assert.equal(told(wants(21, 30, { ...summarised([1, 1, 1]), ahead })), "redo forced 21-30 at 1");
  });
});

describe("what is omitted", () => {
  test("one merge at most comes before a leaf that covers what is omitted, also where what was written ahead lands between", () => {
    const lengths = [45, 51, 45, 45, 51, 45, 45, 45];
    const summaries = summariesOf([3, 2, 2, 2, 2, 1, 1, 1]).map((one, index) => ({
      ...one,
      tokens: lengths[index] ?? 0,
    }));
    const ahead = [{ kind: "leaf", fromSeq: 81, toSeq: 90 }] as const;
    let history = omit(rawHistory(60, { summaries, coveredTo: 80, ahead }), 100);
    const jobs: string[] = [];
    for (let step = 0; history.coveredTo < 100; step++) {
      const decision = decide(stateOf(history, PLENTY, { summaryCap: 45, summaryRoom: 732 }));
      assert.ok(step < 10, told(decision));
      jobs.push(told(decision));
      // Each text is as long as it may be: 252 tokens at the top, 45 of a leaf.
      if (decision.kind === "land") history = land(history, 45);
      if (decision.kind === "job")
        history = commit(history, decision.plan, decision.plan.level === 3 ? 252 : 45);
    }
    assert.deepEqual(jobs, ["merge background 1-50 at 3", "land", "leaf emergency 91-100 at 1"]);
  });
});

describe("what waits for its landing", () => {
  const waiting: History = { ...HUNDRED, ahead: [{ kind: "leaf", fromSeq: 1, toSeq: 90 }] };
  const cacheWith = (values: Partial<CacheState["terms"]>): Partial<CompactionState> => ({
    cache: {
      terms: { read: 0.1, write: 1.25, isCold: false, chance: 1, ...values },
      sharedTokens: 0,
      turnTokens: 10,
    },
  });
  const decided = (share: number, values: Partial<CompactionState>): string =>
    told(decide(stateOf(waiting, { ...filledTo(share), stretchTokens: 500 }, values)));

  test("lands at the tier where every turn finds the cache, or nothing is known of one", () => {
    assert.equal(decided(0.8, {}), "land");
    assert.equal(decided(0.8, cacheWith({})), "land");
  });

  test("waits where the cache is likely to go cold, and lands once it has", () => {
    assert.equal(decided(0.8, cacheWith({ chance: 0.1 })), "idle");
    assert.equal(decided(0.8, { ...cacheWith({ chance: 0.1 }), isResting: true }), "idle");
    assert.equal(decided(0.8, cacheWith({ chance: 0.1, isCold: true })), "land");
  });

  test("waits for nothing where room is wanted, entries are omitted, or a person has asked", () => {
    const late = cacheWith({ chance: 0.1 });
    assert.equal(decided(0.85, late), "land");
    assert.equal(decided(0.1, { ...late, isForced: true }), "land");
    const cut = { ...omit(HUNDRED, 95), ahead: waiting.ahead };
    assert.equal(told(decide(stateOf(cut, { ...PLENTY, stretchTokens: 500 }, late))), "land");
  });
});
