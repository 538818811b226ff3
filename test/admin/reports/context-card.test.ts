import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatChannelReport } from "../../../src/admin/reports/channel-format.ts";
import type { ChannelReport } from "../../../src/admin/reports/channel-report.ts";
import { contextCard } from "../../../src/admin/reports/context-card.ts";
import type { Card } from "../../../src/core/card.ts";
import { agentId, memoryId } from "../../../src/core/ids.ts";
import { createTimeFormat } from "../../../src/text/time.ts";
import { EMPTY_REPORT } from "./empty-report.ts";

const TIME = createTimeFormat("UTC");
const AT = new Date("2026-11-20T10:00:00Z");

const FULL: ChannelReport = {
  ...EMPTY_REPORT,
  usage: 0.86,
  pressure: "high",
  segments: [
    { key: "system", label: "system prompt", tokens: 400, count: 1 },
    { key: "summaries", label: "summaries", tokens: 0, count: 0 },
    { key: "history", label: "raw messages", tokens: 3600, count: 20 },
  ],
  sections: [
    {
      key: "soul",
      kind: "soul",
      label: "who the agent is",
      source: "agents/main/SOUL.md",
      scope: "agent",
      reason: "always",
      evidence: [],
      priority: 100,
      isProtected: true,
      place: "static",
      state: "cut",
      characters: { before: 9000, after: 4000 },
      tokens: { before: 2250, after: 1000 },
    },
  ],
  log: { entries: 500, coveredTo: 40, writtenTo: 90, omittedTo: 60, due: 2 },
  omission: { count: 20, tokens: 700, firstAt: AT, lastAt: AT },
  compactions: {
    committed: { background: 3, aggressive: 1, emergency: 0, forced: 0 },
    saved: { background: 8000, aggressive: 2100, emergency: 0, forced: 0 },
    landed: 2,
    waiting: 1,
    failed: 4,
    stale: 0,
    sourceTokens: 11_000,
    summaryTokens: 900,
  },
  spent: {
    calls: 30,
    promptTokens: 120_000,
    cachedTokens: 90_000,
    writtenTokens: 0,
    completionTokens: 4000,
    peakTokens: 7100,
    models: [],
    cost: { dollars: 0.1234, unpriced: ["tiny"], uncounted: 0 },
    compactions: {
      calls: 5,
      promptTokens: 20_000,
      cachedTokens: 0,
      writtenTokens: 0,
      completionTokens: 900,
      uncounted: 0,
      cost: { dollars: 0.02, unpriced: [], uncounted: 0 },
    },
  },
  summaries: [
    {
      fromSeq: 1,
      toSeq: 40,
      entries: 40,
      span: null,
      level: 1,
      kind: "model",
      tokens: 310,
      needsRedo: false,
      text: "They met.",
    },
  ],
  job: {
    kind: "leaf",
    tier: "background",
    fromSeq: 91,
    toSeq: 120,
    sourceTokens: 1500,
    attempt: 1,
    since: AT,
    ms: 4000,
  },
  memories: [
    {
      id: memoryId(1),
      type: "decision",
      scope: "channel",
      subject: "picnic",
      assertedBy: "Ann",
      statement: "The picnic is on Saturday",
      importance: 0.5,
      at: AT,
      proofs: 1,
      agent: agentId("main"),
      channel: { platform: "terminal", name: "main" },
      sources: [{ seq: 123, quote: "on Saturday then", author: "Ann", at: AT }],
    },
  ],
};

function cardOf(report: ChannelReport): Card {
  return contextCard(report, TIME, formatChannelReport(report, TIME));
}

/** Everything that is shown of it, with the words that name it. */
function partsOf({ title, summary, bar, fields, lists }: Card): string[] {
  return [
    title,
    summary,
    ...bar.marks.map(({ label }) => label),
    ...fields.map(({ value }) => value),
    ...lists.flatMap(({ lines }) => lines),
  ];
}

describe("a channel's report as a card", () => {
  test("tells how full the window is, with the tiers on the same scale", () => {
    const { summary, tone, bar } = cardOf(FULL);
    assert.equal(summary, "86 % of 8,000 usable tokens: high");
    assert.equal(tone, "warning");
    assert.deepEqual(bar, {
      share: 0.86,
      marks: [
        { label: "background 80 %", share: 0.8 },
        { label: "aggressive 85 %", share: 0.85 },
        { label: "emergency 95 %", share: 0.95 },
      ],
    });
    const tones = (["low", "medium", "high", "critical"] as const).map(
      (pressure) => cardOf({ ...FULL, pressure }).tone,
    );
    assert.deepEqual(tones, ["calm", "calm", "warning", "critical"]);
  });

  test("has the costs by type, the compactions, the cache, the peak and the money", () => {
    const { fields, lists } = cardOf(FULL);
    assert.deepEqual(Object.fromEntries(fields.map(({ label, value }) => [label, value])), {
      Window: "10,000 (as it is configured), of which 2,000 are kept for the answer",
      "Next mark": "background at 6,400 tokens, 2,400 more",
      "Largest request so far": "7,100 tokens",
      Log: "500 entries, 2 waiting for an answer",
      Covered: "entries 1–40",
      "Summarised ahead": "entries 41–90, until room is wanted",
      Omitted: "20 older messages (700 tokens, 2026-11-20 10:00 to 2026-11-20 10:00)",
      "Compactions so far": "3 background, 1 aggressive",
      "Tokens saved": "background 8,000, aggressive 2,100",
      Phases: "2 written ahead and landed, 1 written ahead and waiting, 4 failed",
      "Spent so far": "30 model calls, 120,000 tokens in, 4,000 out",
      "Of that from the cache": "90,000 cached, 75 %",
      "By today's prices": "at least $0.1234 (no price is known of tiny)",
      "Of that for compactions": "5 model calls; $0.02",
    });
    assert.deepEqual(
      lists.map(({ label }) => label),
      [
        "Cost by type",
        "Made of",
        "From the agent's folder",
        "Being done",
        "Summarised, oldest first",
        "1 memory",
      ],
    );
    assert.deepEqual(lists[4]?.lines, ["entries 1–40 (40), level 1, 310 tokens, by a model", "  They met."]);
    assert.deepEqual(lists[0]?.lines, ["history 3,600", "system 400"]);
    assert.deepEqual(lists[1]?.lines, [
      "system prompt: 400 tokens, 1 item",
      "raw messages: 3,600 tokens, 20 items",
    ]);
    assert.deepEqual(lists[2]?.lines, [
      "soul: 1,000 tokens, agents/main/SOUL.md (always, cut from 9,000 to 4,000 characters)",
    ]);
  });
});

describe("what a card leaves out", () => {
  test("is what there is nothing of", () => {
    const { fields, lists } = cardOf(EMPTY_REPORT);
    assert.deepEqual(
      fields.map(({ label }) => label),
      ["Window", "Next mark", "Log"],
    );
    assert.deepEqual(
      lists.map(({ label }) => label),
      ["Cost by type"],
    );
  });

  test("is also what the text does not say", () => {
    const { text, ...card } = cardOf(FULL);
    const known = new Set(text.match(/[\p{L}\p{N}$][\p{L}\p{N}.,:/-]*/gu)?.map(bare));
    for (const part of partsOf({ text, ...card }))
      for (const word of part.match(/[\p{L}\p{N}$][\p{L}\p{N}.,:/-]*/gu) ?? [])
        assert.ok(known.has(bare(word)), `${word} of "${part}"`);
  });

  test("shows names on one line and obeys nothing in them", () => {
    const { title } = cardOf({ ...FULL, channel: "river\n\u001b[2J\u202egnp" });
    assert.equal(title, "river ␛[2Jgnp · agent main · model some-model");
  });
});

function bare(word: string): string {
  return word.replace(/[.,:]+$/, "");
}
