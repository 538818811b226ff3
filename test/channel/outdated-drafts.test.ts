import assert from "node:assert/strict";
import { test } from "node:test";
import { outdatedDrafts } from "../../src/channel/outdated-drafts.ts";
import type { Entry, TurnEntryDraft } from "../../src/core/entry.ts";

const at = new Date("2026-11-21T14:05:00Z");

function said(seq: number, text: string): Entry {
  return {
    seq,
    at,
    deleted: false,
    tokens: 9,
    kind: "user",
    author: { id: "u", name: "Ann", isBot: false },
    text,
    messageId: `m-${seq}`,
    replyTo: null,
    addressed: true,
  };
}

function edited(seq: number, of: number, text: string): Entry {
  const edits = { seq: of, author: "Ann", at };
  return { seq, at, deleted: false, tokens: 9, kind: "notice", text, after: null, edits };
}

function call(query: string, text = ""): TurnEntryDraft {
  return {
    kind: "tool_call",
    text,
    calls: [{ id: "call-1", name: "search_history", arguments: JSON.stringify({ query }) }],
  };
}

function result(text: string): TurnEntryDraft {
  return { kind: "tool_result", callId: "call-1", tool: "web", text, references: [], memories: [] };
}

const VIEW = [
  said(1, "the gate is 4711"),
  said(2, "the mill is shut"),
  edited(3, 1, "the gate is 4712"),
  edited(4, 1, "the gate is closed"),
];

test("calls, words beside them and results are found that repeat what a message said before its last edit", () => {
  assert.deepEqual(outdatedDrafts(VIEW, [call("gate 4711"), result("nothing of 4711")]), [
    { draft: 0, seq: 1 },
    { draft: 1, seq: 1 },
  ]);
  assert.deepEqual(
    outdatedDrafts(VIEW, [call("mill", "I look for 4712.")]),
    [{ draft: 0, seq: 1 }],
    "an earlier edit",
  );
  assert.deepEqual(
    outdatedDrafts(VIEW.slice(2), [call("4712")]),
    [{ draft: 0, seq: 1 }],
    "a summary covers the message",
  );
});

test("nothing is found that a message says now, or where nothing was edited", () => {
  assert.deepEqual(outdatedDrafts(VIEW, [call("gate closed"), call("mill shut"), result("sun")]), []);
  assert.deepEqual(outdatedDrafts([...VIEW, said(5, "was it 4711?")], [call("gate 4711")]), []);
  assert.deepEqual(outdatedDrafts(VIEW.slice(0, 2), [call("gate 4711")]), []);
  const answer: TurnEntryDraft = { kind: "assistant", text: "It was 4711.", stopped: false };
  assert.deepEqual(outdatedDrafts(VIEW, [answer]), [], "what people have been told is the agent's word");
});
