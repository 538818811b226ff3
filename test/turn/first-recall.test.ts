import assert from "node:assert/strict";
import { test } from "node:test";
import { recallFor } from "../../src/turn/first-recall.ts";
import { Conversation } from "../context/conversation.ts";

test("what is looked up is what the agent may recall, and nothing while all is in view", () => {
  const { history } = new Conversation();
  const covered = { ...history, coveredTo: 7 };
  const asked = (recall: "all" | "messages" | "memories" | "off"): boolean[] => {
    const { entries, memories } = recallFor(covered, "who?", recall);
    return [entries > 0, memories > 0];
  };
  assert.deepEqual(asked("all"), [true, true]);
  assert.deepEqual(asked("messages"), [true, false]);
  assert.deepEqual(asked("memories"), [false, true]);
  assert.deepEqual(asked("off"), [false, false]);
  assert.deepEqual(recallFor(history, "who?", "all"), { text: "who?", entries: 0, memories: 0 });
});
