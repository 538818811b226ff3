import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { formatMemories, formatMemoryCard, MEMORIES_ASKED } from "../../../src/admin/commands/memory.ts";
import { agentId, memoryId } from "../../../src/core/ids.ts";
import type { ListedMemory } from "../../../src/store/memory/memories.ts";
import { createTimeFormat } from "../../../src/text/time.ts";

const time = createTimeFormat("UTC");
const memory: ListedMemory = {
  id: memoryId(12),
  type: "preference",
  scope: "channel",
  subject: "Ann",
  assertedBy: "Ann",
  statement: "Ann prefers tea.",
  importance: 0.5,
  at: new Date("2026-11-21T14:05:00Z"),
  proofs: 2,
  from: "here",
};

test("/memory tells what a tool has seen as the tool's", () => {
  const seen = { ...memory, type: "observation", assertedBy: "look_up", tool: "look_up" } as const;
  assert.match(formatMemories([seen], time), /observation · seen by the tool look_up, 2026-11-21, 2 proofs$/);
  const sources = [{ seq: 4, quote: "tea", author: "look_up", at: memory.at }];
  const where = { agent: agentId("main"), channel: { platform: "test", name: "room" } };
  assert.match(
    formatMemoryCard({ ...seen, ...where, sources }, time),
    /seen by the tool look_up, 2026-11-21 14:05/,
  );
});

describe("/memory", () => {
  test("tells what, of what kind, who, when, and how often it was said", () => {
    assert.equal(
      formatMemories([memory, { ...memory, type: "fact", statement: "It rains.", proofs: 1 }], time),
      "Remembered here: 2 statements, the newest first.\n" +
        "- #12 Ann prefers tea.\n  preference · Ann, 2026-11-21, 2 proofs\n" +
        "- #12 It rains.\n  fact · Ann, 2026-11-21, 1 proof",
    );
  });

  test("says so where nothing is remembered, and where there is more than it shows", () => {
    assert.equal(formatMemories([], time), "Nothing is remembered here yet.");
    const many = Array.from({ length: MEMORIES_ASKED }, () => memory);
    const text = formatMemories(many, time);
    assert.match(text, /^The newest 30 of what/);
    assert.equal(text.match(/^- /gm)?.length, 30);
  });

  test("tells which were said elsewhere", () => {
    const text = formatMemories(
      [
        { ...memory, from: "parent" },
        { ...memory, from: "workspace" },
      ],
      time,
    );
    assert.match(
      text,
      /2 proofs · from the channel of this thread\n- .*\n.*2 proofs · from another channel$/,
    );
  });

  test("tells until when what holds no more was true", () => {
    const text = formatMemories([{ ...memory, until: new Date("2026-11-23T08:00:00Z") }], time);
    assert.match(text, /preference · Ann, 2026-11-21 until 2026-11-23, 2 proofs$/);
  });

  test("tells of which days it tells, and who says otherwise", () => {
    const otherwise = [{ id: memoryId(14), assertedBy: "Ben", at: new Date("2026-11-22T08:00:00Z") }];
    const text = formatMemories(
      [{ ...memory, refers: { from: "2026-12-01", to: "2026-12-07" }, otherwise }],
      time,
    );
    assert.match(
      text,
      /2 proofs · about 2026-12-01 to 2026-12-07 · Ben said otherwise on 2026-11-22 \(#14\)$/,
    );
  });

  test("obeys nothing that is in a memory", () => {
    const text = formatMemories(
      [{ ...memory, statement: "a\u001b[2Jb\nc", assertedBy: "x\u001b]0;y\u0007" }],
      time,
    );
    assert.match(text, /^- #12 a␛\[2Jb c$/m);
    assert.match(text, /x␛\]0;y␇/);
  });
});

test("a memory's card has its sources: where, when, who, and the words", () => {
  const record = {
    ...memory,
    agent: agentId("main"),
    channel: { platform: "test", name: "room" },
    sources: [{ seq: 7, quote: "I prefer\u001b tea", author: "Ann", at: memory.at }],
  };
  assert.equal(
    formatMemoryCard(record, time),
    [
      "#12     preference about Ann · channel test:room, agent main",
      "        Ann prefers tea.",
      "        Ann, 2026-11-21 14:05, 2 proofs, importance 0.50",
      '             7  2026-11-21 14:05  Ann: "I prefer␛ tea"',
    ].join("\n"),
  );
});
