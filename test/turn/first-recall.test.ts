import assert from "node:assert/strict";
import { test } from "node:test";
import { type AskingMessage, recallFor, seesElsewhere } from "../../src/turn/first-recall.ts";
import { Conversation } from "../context/conversation.ts";

function asks(text: string, id: string, replyTo: string | null): AskingMessage {
  return { author: { id, name: id, isBot: false }, text, replyTo };
}

test("what is looked up is what the agent may recall, and no entries while all is in view", () => {
  const { history } = new Conversation();
  const covered = { ...history, coveredTo: 7 };
  const asked = (recall: "all" | "messages" | "memories" | "off"): boolean[] => {
    const what = { recall, seesElsewhere: false };
    const { entries, memories } = recallFor(covered, [asks("who?", "u-ann", null)], what);
    return [entries > 0, memories > 0];
  };
  assert.deepEqual(asked("all"), [true, true]);
  assert.deepEqual(asked("messages"), [true, false]);
  assert.deepEqual(asked("memories"), [false, true]);
  assert.deepEqual(asked("off"), [false, false]);
  const messages = [
    asks("who?", "u-ann", "m1"),
    asks("and when?", "u-ben", null),
    asks("well?", "u-ann", null),
  ];
  assert.deepEqual(recallFor(history, messages, { recall: "all", seesElsewhere: false }), {
    text: "who?\nand when?\nwell?",
    askers: [
      { id: "u-ann", name: "u-ann" },
      { id: "u-ben", name: "u-ben" },
    ],
    repliesTo: ["m1"],
    entries: 0,
    memories: 0,
  });
});

test("a question is looked up more widely than what is told, and most if it asks for several answers", () => {
  const { history } = new Conversation();
  const covered = { ...history, coveredTo: 7 };
  const widths = ["The key is there.", "Where is the key?", "Which keys are there?"].map((text) => {
    const what = { recall: "all", seesElsewhere: false } as const;
    const { entries, memories } = recallFor(covered, [asks(text, "u-ann", null)], what);
    return { entries, memories };
  });
  const [told, one, several] = widths;
  assert.ok(told !== undefined && one !== undefined && several !== undefined);
  assert.ok(told.entries < one.entries && one.entries < several.entries);
  assert.ok(told.memories < one.memories && one.memories < several.memories);
});

test("memories of other channels are looked up also while all of this one is in view", () => {
  const { history } = new Conversation();
  const asked = (recall: "all" | "messages" | "memories" | "off"): boolean[] => {
    const what = { recall, seesElsewhere: true };
    const { entries, memories } = recallFor(history, [asks("who?", "u-ann", null)], what);
    return [entries > 0, memories > 0];
  };
  assert.deepEqual(asked("all"), [false, true]);
  assert.deepEqual(asked("messages"), [false, false]);
  assert.deepEqual(asked("memories"), [false, true]);
  assert.deepEqual(asked("off"), [false, false]);
});

test("a thread sees memories of its channel, a channel those of its workspace where any are shared, a direct message none", () => {
  const sees = (kind: "channel" | "thread" | "dm", workspace: string, isShared: boolean): boolean =>
    seesElsewhere({ kind, workspace }, () => isShared);
  assert.equal(sees("thread", "", false), true);
  assert.equal(sees("channel", "W", true), true);
  assert.equal(sees("channel", "W", false), false);
  assert.equal(sees("channel", "", true), false);
  assert.equal(sees("dm", "W", true), false);
});
