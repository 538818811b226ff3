// proves: src/daemon/http/page/channel/conversation.ts, src/daemon/http/page/channel/entries.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelReport } from "../../../../../src/admin/reports/channel-report.ts";
import { type Entry, NOT_KEPT } from "../../../../../src/core/entry.ts";
import { agentId, memoryId, turnId } from "../../../../../src/core/ids.ts";
import { conversation, rangeBefore } from "../../../../../src/daemon/http/page/channel/conversation.ts";
import { createTimeFormat } from "../../../../../src/text/time.ts";
import { EMPTY_REPORT } from "../../../../admin/reports/empty-report.ts";

const NOON = new Date("2026-05-01T12:00:00Z");
const SUMMARY = { entries: 40, span: null, level: 1, kind: "model", tokens: 640, needsRedo: false } as const;
const LOG = EMPTY_REPORT.log;

function said(seq: number, overrides: Partial<Extract<Entry, { kind: "user" }>> = {}): Entry {
  const author = { id: "u", name: "Ann", isBot: false };
  const base = { seq, at: NOON, deleted: false, tokens: 9, kind: "user", author } as const;
  return { ...base, text: `line ${seq}`, messageId: `m${seq}`, replyTo: null, addressed: true, ...overrides };
}

/** The conversation as markup, without white space in tags, and each run of it elsewhere as one blank. */
async function show(
  report: Partial<ChannelReport>,
  entries: readonly Entry[],
  range = { from: entries[0]?.seq ?? 1, to: entries.at(-1)?.seq ?? 0 },
): Promise<string> {
  const markup = conversation({
    report: { ...EMPTY_REPORT, channel: "test:harbor", log: { ...LOG, entries: range.to }, ...report },
    range,
    entries,
    channel: { agent: agentId("mira"), settledTo: 1000 },
    time: createTimeFormat("UTC"),
  });
  return String(await markup)
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ >/g, ">");
}

test("messages stand with their time, author and text, which is text", async () => {
  const answer = { seq: 2, at: NOON, deleted: false, tokens: 9, turnId: turnId(1), after: 1 } as const;
  const shown = await show({}, [
    said(1, { text: "<img src=x>\u001b[31m", author: { id: "u", name: "<b>Ann", isBot: false } }),
    { ...answer, kind: "assistant", text: "one\ntwo", stopped: true },
    said(3, { at: new Date("2026-05-02T09:30:00Z") }),
  ]);
  assert.match(shown, /2026-05-01<\/li>.*12:00<\/time>.*&lt;b&gt;Ann<\/span.*&lt;img src=x&gt;␛\[31m<\/span/);
  assert.match(shown, /\[mira\] ?<small>stopped<\/small>/);
  assert.match(shown, /2026-05-02<\/li>.*09:30<\/time/);
  assert.match(shown, /Nothing is summarised: the model is shown all of it as it was said\./);
  assert.doesNotMatch(shown, /older|newest/);
});

test("a deleted message is told without its text, an old one as no longer kept, a hand-off by its agent", async () => {
  const shown = await show({}, [
    said(1, { deleted: true, text: "" }),
    said(2, { expired: true, text: NOT_KEPT }),
    said(3, { agent: agentId("cook"), chain: { id: turnId(1), hop: 1 } }),
  ]);
  assert.match(shown, /<small>deleted<\/small>.*<i class="dim">its text is gone<\/i>/);
  assert.match(shown, /<i class="dim">\(text no longer kept\)<\/i>/);
  assert.match(shown, /<small>handed over<\/small> ?<small>for cook<\/small>/);
});

test("summaries are bands, each with its text once, its source and its memories; a reset has none", async () => {
  const memory = {
    id: memoryId(1),
    type: "fact",
    scope: "channel",
    subject: "key",
    assertedBy: "Ann",
    statement: "The key lies under the stone.",
    importance: 1,
    at: NOON,
    proofs: 1,
    agent: agentId("mira"),
    channel: { platform: "test", name: "harbor" },
    sources: [{ seq: 60, quote: "stone", author: "Ann", at: NOON }],
  } as const;
  const shown = await show(
    {
      summaries: [
        { ...SUMMARY, fromSeq: 1, toSeq: 40, kind: "reset", text: "" },
        {
          ...SUMMARY,
          fromSeq: 41,
          toSeq: 80,
          text: "They <spoke>.",
          span: { messages: 38, firstAt: NOON, lastAt: NOON },
        },
        { ...SUMMARY, fromSeq: 81, toSeq: 99, kind: "digest", needsRedo: true, text: "An extract." },
      ],
      log: { ...LOG, entries: 100, coveredTo: 99 },
      memories: [memory],
    },
    [said(100)],
  );
  assert.match(shown, /Reset: the model is shown nothing of entries 1–40\./);
  assert.match(shown, /Summary: 38 messages → 640 tokens <span class="dim">entries 41–80 · level 1<\/span>/);
  assert.equal(shown.match(/They &lt;spoke&gt;\./g)?.length, 1);
  assert.match(shown, /href="\/page\/source\?id=test%3Aharbor&amp;from=41&amp;to=80"|from=41&to=80"/);
  assert.match(shown, /◆ 1 memory/);
  assert.match(shown, /level 1 · extract without a model · to be written again/);
  assert.equal(shown.match(/<details class="band" open/g)?.length, 1, "the newest is open");
});

test("omitted entries, and what is written ahead, are marked where they stand", async () => {
  const ahead = [
    { kind: "leaf", fromSeq: 11, toSeq: 12 },
    { kind: "merge", fromSeq: 1, toSeq: 4 },
    { kind: "leaf", fromSeq: 5, toSeq: 8 },
  ] as const;
  const shown = await show(
    {
      summaries: [{ ...SUMMARY, fromSeq: 1, toSeq: 4, text: "They spoke." }],
      log: { ...LOG, entries: 13, coveredTo: 4, omittedTo: 9 },
      omission: { count: 5, tokens: 1200, firstAt: NOON, lastAt: NOON },
      monitor: { ...EMPTY_REPORT.monitor, ahead },
    },
    [said(10), said(11), said(12), said(13)],
  );
  assert.match(shown, /Omitted:<\/span> 5 older messages \(1,200 tokens, 2026-05-01 12:00 to/);
  assert.match(shown, /from=5&(?:amp;)?to=9"/);
  assert.match(shown, /The summaries of entries 1–4 are merged ahead/);
  assert.match(shown, /Entries 5–8: their summary is written ahead, and lands at the next mark\./);
  assert.equal(shown.match(/Entries 11–12: their summary is written ahead/g)?.length, 1);
  assert.equal(shown.match(/class="(?:person )ahead"/g)?.length, 2);
});

test("a page has 200 entries at most, and leads to older and newer ones", async () => {
  const log = { ...LOG, entries: 1000, coveredTo: 300, omittedTo: 350 };
  assert.deepEqual(rangeBefore(log, 0), { from: 801, to: 1000 });
  assert.deepEqual(rangeBefore(log, 801), { from: 601, to: 800 });
  assert.deepEqual(rangeBefore(log, 401), { from: 351, to: 400 });
  for (const none of [351, 5, -1, 5000, Number.NaN])
    assert.deepEqual(rangeBefore(log, none), { from: 801, to: 1000 });
  assert.deepEqual(rangeBefore({ ...LOG, entries: 9, coveredTo: 9 }, 0), { from: 10, to: 9 });
  const shown = await show({ log }, [said(601), said(800)], { from: 601, to: 800 });
  assert.match(shown, /&(?:amp;)?before=601">↑ older<\/a> <span class="dim">250 entries before these/);
  assert.match(shown, /href="\/page\/channel\?id=test%3Aharbor">↓ newest/);
});

test("of a long text the beginning stands there, with a link to all of it", async () => {
  const long = said(1, { text: "x".repeat(5000) });
  const shown = await show({}, [long, said(2)]);
  assert.match(shown, /[^x]x{4000} … <a href="[^"]*from=1&(?:amp;)?to=1">all 5,000 characters<\/a>/);
  assert.doesNotMatch(shown, /x{4001}/);
  assert.match(await show({}, [long]), /[^x]x{5000}[^x]/, "by itself it stands there whole");
});
