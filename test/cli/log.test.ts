// proves: src/cli/log.ts, src/admin/reports/log-entry.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { formatEntry } from "../../src/cli/log.ts";
import type { Entry } from "../../src/core/entry.ts";
import { agentId, memoryId, turnId } from "../../src/core/ids.ts";
import { createTimeFormat } from "../../src/text/time.ts";

const at = new Date("2026-11-21T14:05:00Z");
const base = { seq: 5, at, deleted: false, tokens: 9 };
const ofTurn = { ...base, turnId: turnId(1), after: 4 };
const user: Entry = {
  ...base,
  kind: "user",
  author: { id: "u", name: "Ann", isBot: false },
  text: "hi",
  messageId: "m",
  replyTo: null,
  addressed: true,
};

function format(
  entry: Entry,
  marks: { settledTo?: number; coveredTo?: number; omittedTo?: number } = {},
): string {
  const channel = { agent: agentId("main"), settledTo: 9, coveredTo: 0, omittedTo: 0, ...marks };
  return formatEntry(entry, channel, createTimeFormat("UTC"));
}

describe("a line of the log", () => {
  test("says who, when and what", () => {
    assert.equal(format(user), "     5  2026-11-21 14:05  Ann: hi");
    const answer: Entry = { ...ofTurn, kind: "assistant", text: "one\ntwo", stopped: true };
    assert.equal(format(answer), "     5  2026-11-21 14:05  [main] (stopped): one\n          two");
  });

  test("says of which time nothing came in, in the times of the other lines", () => {
    const from = new Date("2026-11-21T12:05:09Z");
    const absence = { from, to: at };
    const notice = { ...base, kind: "notice", text: "", turnId: null, after: null, edits: null } as const;
    assert.match(
      format({ ...notice, absence: { ...absence, kind: "late" } }),
      /what was said between 2026-11-21 12:05 and 2026-11-21 14:05 comes further below, as it is read$/,
    );
    assert.match(format({ ...notice, absence: { ...absence, kind: "lost" } }), /14:05 can't be read$/);
  });

  test("says where the message stands", () => {
    assert.match(format(user, { settledTo: 4 }), /Ann \(waiting\): /);
    assert.match(format({ ...user, addressed: false }, { settledTo: 4 }), /Ann \(listened\): /);
    assert.match(
      format({ ...user, deleted: true, text: "" }, { coveredTo: 5 }),
      /Ann \(deleted, covered\): $/,
    );
    assert.match(format(user, { coveredTo: 4, omittedTo: 5 }), /Ann \(omitted\): /);
    assert.match(format(user, { coveredTo: 5, omittedTo: 7 }), /Ann \(covered\): /);
    const handed = { ...user, agent: agentId("cook"), chain: { id: turnId(1), hop: 1 } };
    assert.match(format(handed), /Ann \(handed over, for cook\): /);
  });
});

describe("a line of what was done, and of what anybody wrote", () => {
  test("shows calls, their results and what they quote", () => {
    const calls = [
      { id: "1", name: "search_history", arguments: '{"query":"x"}' },
      { id: "2", name: "skip", arguments: "{}" },
    ];
    const call: Entry = { ...ofTurn, kind: "tool_call", text: "Let me look.", calls };
    assert.match(
      format(call),
      /\[main calls\]: Let me look\.\n +search_history\(\{"query":"x"\}\) skip\(\{\}\)$/,
    );
    const references = [
      { seq: 1, at, author: "Ann", text: "blue" },
      { seq: 2, at, author: "Ben", text: null },
    ];
    const result: Entry = {
      ...ofTurn,
      kind: "tool_result",
      callId: "1",
      tool: "search_history",
      text: "",
      references,
      memories: [
        { id: memoryId(1), memory: { type: "fact", assertedBy: "Cleo", at, statement: "It rains." } },
        { id: memoryId(2), memory: null },
      ],
    };
    assert.match(
      format(result),
      /\[search_history answers\]: > Ann: blue\n +> Ben: \(deleted\)\n +> Cleo \(fact\): It rains\.\n +> \(forgotten\)$/,
    );
  });

  test("shows notices, and which message somebody edited", () => {
    const notice: Entry = { ...base, kind: "notice", text: "Sorry.", after: 4, edits: null };
    assert.match(format(notice), /\[notice\]: Sorry\.$/);
    assert.match(
      format({ ...notice, after: null, edits: { seq: 2, author: "Ann", at } }),
      /\[Ann edits 2\]: Sorry\.$/,
    );
  });

  test("obeys nothing that a person or a model wrote", () => {
    assert.equal(format({ ...user, text: "\u001b[2Jgone\u202e" }), "     5  2026-11-21 14:05  Ann: ␛[2Jgone");
    const tool = "x\u001b]0;owned\u0007\ny";
    const result: Entry = {
      ...ofTurn,
      kind: "tool_result",
      callId: "1",
      tool,
      text: "Error",
      references: [],
      memories: [],
    };
    assert.match(format(result), /\[x␛\]0;owned␇ y answers\]: Error$/);
  });
});
