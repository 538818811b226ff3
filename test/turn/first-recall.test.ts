import assert from "node:assert/strict";
import { test } from "node:test";
import { type AskingMessage, recallFor } from "../../src/turn/first-recall.ts";
import { Conversation } from "../context/conversation.ts";

function asks(text: string, id: string, replyTo: string | null): AskingMessage {
  return { author: { id, name: id, isBot: false }, text, replyTo };
}

test("what is looked up is what the agent may recall, and nothing while all is in view", () => {
  const { history } = new Conversation();
  const covered = { ...history, coveredTo: 7 };
  const asked = (recall: "all" | "messages" | "memories" | "off"): boolean[] => {
    const { entries, memories } = recallFor(covered, [asks("who?", "u-ann", null)], recall);
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
  assert.deepEqual(recallFor(history, messages, "all"), {
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
