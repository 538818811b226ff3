import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserEntry } from "../../src/core/entry.ts";
import type { History } from "../../src/core/history.ts";
import type { Thoughts } from "../../src/llm/model.ts";
import { loggedEntry } from "../../src/store/log/message-rows.ts";
import { historyFrom } from "../../src/tune/coverage.ts";
import { TurnThoughts } from "../../src/turn/turn.ts";

const THOUGHTS: Thoughts = { model: "m", api: "responses", callIds: ["c"], items: [{ type: "reasoning" }] };

function heard(seq: number, text: string): UserEntry {
  const at = new Date("2026-11-21T10:00:00Z");
  const author = { id: "1", name: "Ann", isBot: false };
  const draft = {
    kind: "user" as const,
    messageId: `m${seq}`,
    author,
    text,
    tokens: 5,
    at,
    addressed: true,
    replyTo: null,
    deleted: false,
  };
  return loggedEntry(draft, seq);
}

function shown(...texts: readonly string[]): History {
  return { ...historyFrom(0), entries: texts.map((text, index) => heard(index + 1, text)) };
}

test("what was thought holds as long as all that was seen is as it was, and goes as a whole", () => {
  const seen = shown("one", "two");
  for (const [what, now, holds] of [
    ["more is said", shown("one", "two", "three"), true],
    ["a text is edited", shown("one", "2"), false],
    ["a text is deleted", shown("one"), false],
    ["a summary covers what was seen", { ...historyFrom(1), entries: seen.entries.slice(1) }, false],
    ["something is omitted", { ...seen, omittedTo: 1 }, false],
  ] as const) {
    const thoughts = new TurnThoughts();
    thoughts.add(THOUGHTS, seen);
    assert.equal(thoughts.of(now).length, holds ? 1 : 0, what);
    assert.equal(thoughts.of(seen).length, holds ? 1 : 0, `${what}: for good`);
  }
});
