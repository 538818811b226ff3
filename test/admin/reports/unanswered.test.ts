// proves: src/admin/reports/unanswered.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describeUnanswered,
  type LastMessageFacts,
  type Unanswered,
  whyUnanswered,
} from "../../../src/admin/reports/unanswered.ts";
import type { MessageFate, SettlingTurn } from "../../../src/store/turns/message-fate.ts";

const SAID = new Date("2026-11-21T14:00:00Z");
const ENDED = new Date("2026-11-21T14:01:00Z");
const NOW = new Date("2026-11-21T14:02:00Z");

const READ: MessageFate = {
  seq: 7,
  messageId: "m7",
  at: SAID,
  isAddressed: false,
  isDeleted: false,
  isEdited: false,
  isUnheard: false,
  isLate: false,
  isSettled: true,
  turn: null,
  running: null,
};
const DUE: MessageFate = { ...READ, isAddressed: true, isSettled: false };

function ended(turn: Partial<SettlingTurn>, more: Partial<MessageFate> = {}): MessageFate {
  const whole: SettlingTurn = {
    id: 1,
    state: "answered",
    reason: null,
    settledAt: ENDED,
    isAskersOwn: true,
    isChanged: false,
    notice: null,
    delivery: null,
    handedOver: null,
    ...turn,
  };
  return { ...DUE, isSettled: true, turn: whole, ...more };
}

function why(logged: MessageFate | null, more: Partial<LastMessageFacts> = {}): Unanswered | null {
  return whyUnanswered({
    logged,
    refusal: null,
    handedOver: null,
    waitsFor: null,
    lost: null,
    skipReason: null,
    isMentionRequired: true,
    lastFailureAt: null,
    now: NOW,
    ...more,
  });
}

const refusal = { messageId: "m8", at: ENDED, why: "not_let_in" } as const;
const CASES: readonly (readonly [name: string, found: Unanswered | null, kind: string | undefined])[] = [
  ["nothing is known", why(null), undefined],
  ["only read", why(READ), "not_addressed"],
  ["only read where all is meant for the agent", why(READ, { isMentionRequired: false }), "only_read"],
  ["read late", why({ ...READ, isLate: true }), "read_late"],
  ["its author may not ask", why({ ...READ, isUnheard: true, isLate: true }), "not_allowed"],
  ["read and deleted", why({ ...READ, isDeleted: true }), "deleted"],
  ["a newer one was refused", why(ended({}), { refusal }), "not_let_in"],
  ["an older one was refused", why(ended({}), { refusal: { ...refusal, at: new Date(0) } }), undefined],
  [
    "refused, and in the log",
    why(READ, { refusal: { ...refusal, messageId: "m7", why: "too_often" } }),
    "too_often",
  ],
  ["lost", why(ended({}), { lost: { from: SAID, to: ENDED } }), "lost"],
  ["next", why(DUE), "queued"],
  [
    "being answered",
    why({ ...DUE, running: { startedAt: SAID, attempts: 2, isOfMessage: true } }),
    "answering",
  ],
  ["behind", why({ ...DUE, running: { startedAt: SAID, attempts: 1, isOfMessage: false } }), "queued"],
  ["deleted while due", why({ ...DUE, isDeleted: true }), "deleted"],
  ["reset", why({ ...DUE, isSettled: true }), "reset"],
  ["answered", why(ended({ delivery: "sent" })), undefined],
  ["answered and deleted later", why(ended({ delivery: "sent" }, { isDeleted: true })), undefined],
  ["answered just now", why(ended({ delivery: "pending", settledAt: NOW })), undefined],
  ["not delivered for long", why(ended({ delivery: "pending" })), "undelivered"],
  ["refused by the platform", why(ended({ delivery: "failed" })), "undelivered"],
  ["waits for somebody", why(ended({}), { waitsFor: "waits." }), "waits"],
  ["skipped", why(ended({ state: "skipped" })), "skipped"],
  ["skipped for it was deleted", why(ended({ state: "skipped" }, { isDeleted: true })), "deleted"],
  ["stopped", why(ended({ state: "stopped" })), "stopped"],
  ["bounded", why(ended({ state: "stopped", reason: "20 calls" })), "too_many_calls"],
  ["failed", why(ended({ state: "failed", reason: "timeout (m)" })), "failed"],
];

test("each way to stay without an answer is one reason", () => {
  for (const [name, found, kind] of CASES) assert.deepEqual([name, found?.kind], [name, kind]);
});

test("a budget is told of as far as it is the asker's, and a model's reason as long as its words are nobody's who changed theirs", () => {
  const spent = (of: string, isAskersOwn: boolean): Unanswered | null =>
    why(ended({ state: "failed", reason: `the budget of the ${of} is spent for today`, isAskersOwn }));
  assert.deepEqual(
    [spent("person", true), spent("person", false), spent("channel", false), spent("agent", false)],
    ["person", "unknown", "channel", "agent"].map((purse) => ({ kind: "spent", purse })),
  );
  const skipReason = "they only think aloud";
  assert.deepEqual(why(ended({ state: "skipped" }), { skipReason }), { kind: "skipped", reason: skipReason });
  assert.deepEqual(why(ended({ state: "skipped", isChanged: true }), { skipReason }), {
    kind: "skipped",
    reason: null,
  });
});

test("each reason is one plain sentence about the asker's own message", () => {
  const words = { time: { minute: (date: Date) => date.toISOString() }, now: NOW, explain: () => "" };
  for (const [name, found] of CASES) {
    if (found === null) continue;
    const said = describeUnanswered(found, SAID, words);
    assert.match(said, /^(?:Your last message here, from 2026-11-21T14:00|What was said here from )/, name);
    assert.match(said, /[^.]\.$/, name);
  }
  const behind: Unanswered = { kind: "queued", since: SAID };
  assert.equal(
    describeUnanswered({ kind: "handed_over", to: "Researcher", outcome: behind }, null, words),
    "Your last message here was handed over to Researcher: there it waits behind another answer, which is being written for 120.0 s now.",
  );
});
