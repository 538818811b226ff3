import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { type CompactionState, decide } from "../../../src/compactor/policy/policy.ts";
import { lastCoverable } from "../../../src/context/keep.ts";
import { type JobPlan, MAX_LIVE_SUMMARIES, TOP_LEVEL } from "../../../src/core/compaction.ts";
import { type History, isCounted, legalCuts, omit, writtenTo } from "../../../src/core/history.ts";
import { anySteps, Conversation } from "../../context/conversation.ts";
import { commit, land, type Room, stateOf, told, tokensOf, writeAhead } from "../channel.ts";

const rooms: fc.Arbitrary<Room> = fc.record({
  usable: fc.integer({ min: 1500, max: 20_000 }),
  keepMessages: fc.nat({ max: 30 }),
  maxRawMessages: fc.integer({ min: 10, max: 200 }),
  fixed: fc.nat({ max: 700 }),
  stretchTokens: fc.constantFrom(Infinity, 150, 400, 1200),
  maxRawTokens: fc.constantFrom(Infinity, 2000),
});

/** What must hold of every plan. */
function assertPlan(state: CompactionState, plan: JobPlan): void {
  const { history, firstKept } = state;
  if (plan.kind === "leaf") return assertLeaf(state, plan);
  const replaced = history.summaries.filter((one) => one.toSeq >= plan.fromSeq && one.fromSeq <= plan.toSeq);
  assert.ok(plan.toSeq <= history.coveredTo && plan.toSeq < firstKept);
  assert.equal(replaced[0]?.fromSeq, plan.fromSeq);
  assert.equal(replaced.at(-1)?.toSeq, plan.toSeq);
  const length = replaced.reduce((entries, { fromSeq, toSeq }) => entries + toSeq - fromSeq + 1, 0);
  assert.equal(length, plan.toSeq - plan.fromSeq + 1, "what is merged tiles its range");
  if (plan.kind === "redo")
    assert.deepEqual(
      replaced.map(({ level }) => level),
      [plan.level],
    );
  else assert.ok(replaced.length >= 2 && plan.level <= TOP_LEVEL);
}

function assertLeaf(state: CompactionState, plan: JobPlan): void {
  const { history, rules } = state;
  const { entries, coveredTo, omittedTo } = history;
  if (plan.isAhead === true) return assertStretch(state, plan);
  assert.equal(plan.fromSeq, coveredTo + 1);
  assert.equal(plan.level, 1);
  assert.ok(plan.toSeq >= Math.max(plan.fromSeq, omittedTo));
  const covered = entries.filter(({ seq }) => seq <= plan.toSeq);
  const gone = (omittedTo > coveredTo ? (history.omission?.tokens ?? 0) : 0) + sum(covered);
  assert.equal(plan.sourceTokens, gone);
  if (covered.length === 0) return assert.equal(plan.toSeq, omittedTo);
  assert.ok(legalCuts(entries).has(plan.toSeq));
  assert.ok(plan.toSeq < state.firstKept);
  const keep = {
    firstKept: state.firstKept,
    keepMessages: rules.keepMessages,
    maxTokens: state.keepTokens,
    tokensOf,
  };
  const last = lastCoverable(entries, keep);
  assert.ok(plan.toSeq <= last);
  // Share and target are reached, or nothing more may go.
  if (plan.toSeq === [...legalCuts(entries)].findLast((seq) => seq <= last)) return;
  assert.notEqual(plan.tier, "forced");
  const share = plan.tier === "background" ? 0.3 : 0.5;
  assert.ok(covered.filter(isCounted).length >= entries.filter(isCounted).length * share);
  assert.ok(state.tokens - gone + state.summaryCap <= state.tokenBudgetAt(rules.target));
}

/** A stretch begins behind what is covered or written, ends before what is kept, and is no shorter than it must be. */
function assertStretch(state: CompactionState, plan: JobPlan): void {
  const { history, rules, firstKept } = state;
  assert.equal(plan.fromSeq, writtenTo(history) + 1);
  assert.ok(history.ahead.every(({ fromSeq, toSeq }) => toSeq < plan.fromSeq || fromSeq > plan.toSeq));
  assert.equal(history.omittedTo > history.coveredTo, false);
  const within = history.entries.filter(({ seq }) => seq >= plan.fromSeq && seq <= plan.toSeq);
  assert.equal(plan.sourceTokens, sum(within));
  assert.ok(legalCuts(history.entries).has(plan.toSeq));
  const keep = {
    firstKept,
    keepMessages: rules.keepMessages,
    maxTokens: state.keepTokens,
    tokensOf,
  };
  assert.ok(plan.toSeq <= lastCoverable(history.entries, keep));
}

function sum(entries: History["entries"]): number {
  return entries.reduce((tokens, entry) => tokens + entry.tokens, 0);
}

/** Commits what is decided until nothing is due: of few entries at once there may be a leaf, a merge and a landing each. */
function settleDown(start: History, look: (history: History) => CompactionState): History {
  const most = 20 + start.entries.length;
  let history = start;
  for (let jobs = 0; ; jobs++) {
    const state = look(history);
    const decision = decide(state);
    assert.ok(jobs < most, `still busy: ${told(decision)}`);
    if (decision.kind === "land") {
      const landed = land(history, 40);
      assert.ok(landed.coveredTo > history.coveredTo || landed.summaries.length < history.summaries.length);
      history = landed;
      continue;
    }
    if (decision.kind !== "job") return history;
    assertPlan(state, decision.plan);
    const tokens = Math.min(state.summaryCap, Math.ceil(decision.plan.sourceTokens / 2));
    history =
      decision.plan.isAhead === true
        ? writeAhead(history, decision.plan)
        : commit(history, decision.plan, tokens);
    assert.ok(history.summaries.length <= MAX_LIVE_SUMMARIES);
  }
}

describe("the decisions of a channel", () => {
  test("are plans that may be carried out, come to an end, and keep the summaries few", () => {
    const inputs = fc.record({
      parts: fc.array(
        fc.record({
          steps: anySteps({ maxLength: 60, longest: 1500 }),
          omit: fc.boolean(),
          isForced: fc.boolean(),
          voids: fc.nat({ max: 4 }),
        }),
        { minLength: 1, maxLength: 12 },
      ),
      room: rooms,
    });
    fc.assert(
      fc.property(inputs, ({ parts, room }) => {
        const talk = new Conversation();
        for (const { steps, omit: omits, isForced, voids } of parts) {
          talk.run(steps);
          // An edit or a deletion voids one stretch, whichever.
          talk.history = { ...talk.history, ahead: talk.history.ahead.toSpliced(voids, 1) };
          const look = (history: History): CompactionState => stateOf(history, room, {}, talk.turn);
          const { firstKept } = look(talk.history);
          const cut = [...legalCuts(talk.history.entries)].findLast((seq) => seq < firstKept);
          if (omits && cut !== undefined) talk.history = omit(talk.history, cut);
          if (isForced) {
            const state = { ...look(talk.history), isForced };
            const decision = decide(state);
            assert.notEqual(decision.kind, "idle");
            if (decision.kind === "land") talk.history = land(talk.history, 40);
            if (decision.kind === "job") {
              assertPlan(state, decision.plan);
              assert.notEqual(decision.plan.isAhead, true);
              talk.history = commit(talk.history, decision.plan, 40);
            }
          }
          talk.history = settleDown(talk.history, look);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("bring a channel that never stops to all levels, and to its target or to what must be kept", () => {
    const room: Room = { usable: 2500, keepMessages: 20, maxRawMessages: 300, fixed: 300 };
    const talk = new Conversation();
    const levels = new Set<number>();
    for (let index = 0; index < 5000; index++) {
      talk.say(`message number ${index} of this channel`);
      const look = (history: History): CompactionState => stateOf(history, room);
      const wasDue = decide(look(talk.history)).kind === "job";
      talk.history = settleDown(talk.history, look);
      for (const { level } of talk.history.summaries) levels.add(level);
      const state = look(talk.history);
      assert.ok(state.tokens < state.tokenBudgetAt(0.8));
      if (wasDue && talk.history.summaries.at(-1)?.level === 1) assert.ok(talk.history.entries.length >= 20);
    }
    assert.deepEqual(
      [...levels].toSorted((a, b) => a - b),
      [1, 2, 3],
    );
    assert.equal(talk.history.summaries.filter(({ level }) => level === TOP_LEVEL).length, 1);
  });
});
