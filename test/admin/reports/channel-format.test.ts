import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatChannelReport } from "../../../src/admin/reports/channel-format.ts";
import { type ChannelReport, MAX_MEMORIES } from "../../../src/admin/reports/channel-report.ts";
import { agentId, memoryId } from "../../../src/core/ids.ts";
import { EMPTY_REPORT } from "./empty-report.ts";
import { createTimeFormat } from "../../../src/text/time.ts";
import type { MemoryRecord } from "../../../src/store/memory/memories.ts";

const EMPTY = EMPTY_REPORT;

function memory(id: number, overrides: Partial<MemoryRecord> = {}): MemoryRecord {
  const at = new Date("2026-11-20T10:00:00Z");
  return {
    id: memoryId(id),
    type: "decision",
    scope: "channel",
    subject: "picnic",
    assertedBy: "Ann",
    statement: "The picnic is on Saturday",
    importance: 0.5,
    at,
    proofs: 1,
    agent: agentId("main"),
    channel: { platform: "terminal", name: "main" },
    sources: [{ seq: 123, quote: "on Saturday then", author: "Ann", at }],
    ...overrides,
  };
}

function screen(overrides: Partial<ChannelReport>): string {
  return formatChannelReport({ ...EMPTY, ...overrides }, createTimeFormat("UTC"));
}

describe("a channel's report as a screen", () => {
  test("says that nothing is summarised or remembered yet", () => {
    const text = screen({});
    assert.match(text, /out\n\n {2}Nothing is summarised yet\.\n\n {2}Nothing is remembered yet\.$/);
    assert.match(text, /^ {2}█{20}[░┊]{20} {2}50 %/m);
  });

  test("shows each summary, oldest first, with what it stands for and its first words", () => {
    const base = { tokens: 310, needsRedo: false, span: null };
    const text = screen({
      summaries: [
        { ...base, fromSeq: 1, toSeq: 40, entries: 40, level: 1, kind: "reset", tokens: 0, text: "" },
        {
          ...base,
          fromSeq: 41,
          toSeq: 1130,
          entries: 1090,
          level: 2,
          kind: "model",
          text: "They met.\n\nAnn rows.",
        },
        {
          ...base,
          fromSeq: 1131,
          toSeq: 1140,
          entries: 10,
          level: 1,
          kind: "digest",
          needsRedo: true,
          text: `\u001B[31m${"word ".repeat(40)}`,
        },
      ],
    });
    const [, list = ""] = /Summarised, oldest first:\n((?: {4}.*\n)+)/.exec(text) ?? [];
    const lines = list.trimEnd().split("\n");
    assert.deepEqual(lines.slice(0, 4), [
      "    entries 1–40 (40), reset: the model is shown nothing of them",
      "    entries 41–1,130 (1,090), level 2, 310 tokens, by a model",
      "      They met. Ann rows.",
      "    entries 1,131–1,140 (10), level 1, 310 tokens, extract without a model, to be written again",
    ]);
    assert.match(lines[4] ?? "", /^ {6}␛\[31mword word .* …$/);
    assert.ok((lines[4] ?? "").length < 110);
  });
});

describe("a channel's report says", () => {
  test("what is being summarised, and since when", () => {
    const job = {
      kind: "leaf",
      tier: "background",
      fromSeq: 131,
      toSeq: 250,
      sourceTokens: 8200,
      attempt: 1,
      since: new Date("2026-11-21T12:00:00Z"),
      ms: 12_340,
    } as const;
    assert.match(
      screen({ job }),
      /Being summarised: entries 131–250, about 8,200 tokens \(background, since 2026-11-21 12:00, for 12\.3 s now\)/,
    );
    const merge = screen({ job: { ...job, kind: "merge", attempt: 2 } });
    assert.match(merge, /Summaries being merged: .*, attempt 2\)/);
    assert.doesNotMatch(screen({}), /Being|being/);
  });

  test("the newest memories with their sources, and how many there are", () => {
    const two = [
      { seq: 123, quote: "a", author: "Ann", at: new Date() },
      { seq: 1130, quote: "b", author: "Bob", at: new Date() },
    ];
    const text = screen({ memories: [memory(2, { sources: two }), memory(1)] });
    assert.match(
      text,
      /\n {2}2 memories:\n {4}decision · The picnic is on Saturday — Ann, 2026-11-20, entries 123 and 1,130\n {4}decision · The picnic is on Saturday — Ann, 2026-11-20, entry 123$/,
    );
    const many = screen({ memories: Array.from({ length: MAX_MEMORIES }, (_, index) => memory(index)) });
    assert.match(many, /\n {2}1,000 memories or more, the newest 5:\n(?: {4}decision.*\n?){5}$/);
  });
});
