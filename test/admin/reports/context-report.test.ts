import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { createTimeFormat } from "../../../src/text/time.ts";
import { formatContextReport } from "../../../src/admin/reports/channel-format.ts";
import { type ContextReport, reportContext } from "../../../src/admin/reports/context-report.ts";
import type { ModelPrice } from "../../../src/core/cost.ts";
import type { ReportedUsage } from "../../../src/core/calibration.ts";
import type { History } from "../../../src/core/history.ts";
import { agentId, channelId } from "../../../src/core/ids.ts";
import { defaultAgent } from "../../context/agent.ts";
import { Conversation } from "../../context/conversation.ts";

const TIME = createTimeFormat("UTC");
const compactions = {
  committed: { background: 2, aggressive: 1, emergency: 0, forced: 0 },
  saved: { background: 8000, aggressive: 200, emergency: 0, forced: 0 },
  landed: 1,
  waiting: 1,
  failed: 0,
  stale: 2,
  sourceTokens: 9000,
  summaryTokens: 800,
};
const COUNTS = { uncounted: 0, promptTokens: 0, cachedTokens: 0, writtenTokens: 0, completionTokens: 0 };
const spent = {
  calls: 12,
  promptTokens: 34_567,
  cachedTokens: 30_000,
  writtenTokens: 0,
  completionTokens: 890,
  peakTokens: 9876,
  models: [
    { purpose: "turn", model: "big", ...COUNTS, calls: 10, promptTokens: 30_000, cachedTokens: 30_000 },
    { purpose: "compaction", model: "small", ...COUNTS, calls: 2, promptTokens: 4567, completionTokens: 890 },
  ],
} as const;

function report(
  history: History,
  contextWindow = 12_000,
  lastUsage: ReportedUsage | null = null,
  priceOf: (model: string) => ModelPrice | undefined = () => undefined,
): ContextReport {
  const plain = defaultAgent();
  const agent = { ...plain, models: { ...plain.models, priceOf } };
  const config = { ...agent.config, contextWindow };
  const channel = {
    id: channelId(1),
    address: { platform: "terminal", name: "main" },
    kind: "dm" as const,
    agent: agentId("main"),
    model: null,
    workspace: "",
    place: null,
    isPrivate: null,
    sharesMemory: false,
    epoch: 1,
    lastSeq: history.lastSeq,
    settledTo: history.settledTo,
    coveredTo: history.coveredTo,
    omittedTo: history.omittedTo,
  };
  const now = new Date("2026-11-21T20:00:00Z");
  return reportContext(
    { ...agent, config },
    { channel, history, lastUsage },
    { model: "some-model", spent, compactions, now, channelFiles: [], activeTexts: [], waitedFor: [] },
  );
}

/** About a hundred tokens. */
const LONG = "some words about the weather, and of the harbour by the old town ".repeat(7);

function chatter(messages: number, text = "some words about the weather"): Conversation {
  const talk = new Conversation();
  for (let index = 0; index < messages; index++) talk.say(text, { author: index });
  talk.say("@bot well?", { addressed: true });
  return talk;
}

describe("the report of a context", () => {
  test("adds up to the request that would be sent", () => {
    const { segments, tokens, usage, usable, log, omission, ...rest } = report(chatter(20).history);
    assert.equal(
      tokens,
      segments.reduce((sum, segment) => sum + segment.tokens, 0),
    );
    assert.equal(usable, rest.window - rest.reserve);
    assert.equal(usage, tokens / usable);
    assert.deepEqual(log, { entries: 21, coveredTo: 0, writtenTo: 0, omittedTo: 0, due: 1 });
    assert.equal(omission, null);
    assert.equal(rest.channel, "terminal:main");
    assert.equal(segments.find(({ key }) => key === "due")?.count, 1);
  });

  test("shows the request as emergency would send it, and changes nothing", () => {
    const { history } = chatter(1000);
    const { learned, ...rest } = history;
    const before = structuredClone(rest);
    const { tokens, usable } = report(history);
    assert.ok(tokens <= usable);
    assert.deepEqual(history, { ...before, learned });
  });

  test("counts what is omitted into the usage", () => {
    const { history } = chatter(20);
    const at = new Date("2026-11-21T14:05:00Z");
    const omission = { fromSeq: 1, toSeq: 9, count: 9, tokens: 3000, firstAt: at, lastAt: at };
    const plain = report(history);
    const left = report({ ...history, omission });
    assert.equal(left.usage, (left.tokens + 3000) / plain.usable);
  });
});

describe("the monitor of a report", () => {
  test("says how far the next tier is, in the tokens that the report has", () => {
    const { monitor, tokens, usable } = report(chatter(20, LONG).history);
    assert.equal(monitor.due, null);
    assert.equal(monitor.tiers.background, Math.floor(usable * 0.8));
    assert.deepEqual(monitor.next, {
      tier: "background",
      at: monitor.tiers.background,
      left: monitor.tiers.background - tokens,
      by: "window",
    });
  });

  test("comes as much earlier as is kept free for recall, once something is out of view", () => {
    const { history } = chatter(20, LONG);
    const at = new Date("2026-11-21T14:05:00Z");
    const omission = { fromSeq: 1, toSeq: 1, count: 1, tokens: 0, firstAt: at, lastAt: at };
    const { monitor, usable } = report({ ...history, omittedTo: 1, omission });
    assert.equal(monitor.keptForRecall, Math.floor(usable * 0.15));
    assert.equal(monitor.next?.at, monitor.tiers.background - monitor.keptForRecall);
  });

  test("names the limit by which the background tier comes first in a large window", () => {
    const { monitor, tokens } = report(chatter(200).history, 1_000_000);
    assert.equal(monitor.next?.tier, "background");
    assert.equal(monitor.next.by, "max_raw_messages");
    assert.equal(monitor.next.at, tokens + monitor.next.left);
    const long = report(chatter(100, LONG).history, 1_000_000);
    assert.equal(long.monitor.next?.by, "max_raw_tokens");
    assert.ok(long.monitor.next.left < 16_000 && long.monitor.next.at < 20_000);
    assert.match(
      formatContextReport(long, TIME),
      /next: background at 1\d,\d{3} tokens, \d,\d{3} more, by the length of the messages \(max_raw_tokens\)/,
    );
  });

  test("names the aggressive tier where the background tier is due by the length of the messages", () => {
    const { monitor, usage } = report(chatter(290, LONG).history, 1_000_000);
    assert.ok(usage < 0.1);
    assert.deepEqual([monitor.next?.tier, monitor.next?.by], ["aggressive", "window"]);
  });

  test("says what is due, and that no tier is left above emergency", () => {
    const { monitor, pressure, usage } = report(chatter(1000).history);
    assert.equal(monitor.due?.what, "leaf");
    assert.equal(monitor.due.tier, "aggressive");
    assert.equal(monitor.due.fromSeq, 1);
    assert.equal(monitor.next, null);
    assert.equal(pressure, "critical");
    assert.ok(usage > 0.95);
  });
});

describe("the tokens of a report", () => {
  const { history } = chatter(20);
  const { tokens: estimated } = report(history);

  test("are the model's own where it has counted", () => {
    const usage = { model: "some-model", estimated, reported: estimated * 2 };
    const { tokens, usage: share, usable, segments } = report(history, 30_000, usage);
    assert.ok(Math.abs(tokens - 2 * estimated) <= segments.length, `${tokens}, not ${2 * estimated}`);
    assert.equal(share, (2 * estimated) / usable);
  });

  test("are estimates where another model has counted last", () => {
    const usage = { model: "a-fallback", estimated, reported: estimated * 2 };
    assert.equal(report(history, 30_000, usage).tokens, estimated);
  });
});

describe("the report as a screen", () => {
  test("has a bar with the marks, the segments and what was spent", () => {
    const screen = formatContextReport(report(chatter(20).history), TIME);
    assert.match(screen, /^terminal:main · agent main · model some-model\n/);
    const [, bar = ""] = /^ {2}(\S{40}) {2}\d+ % of [\d,]+ usable tokens: low$/m.exec(screen) ?? [];
    assert.equal(bar.replaceAll(/[█░]/g, "").length, 3, bar);
    assert.match(screen, /marks: background 80 %, aggressive 85 %, emergency 95 %/);
    assert.match(screen, /^ {2}raw history +[\d,]+ tokens +20 items$/m);
    assert.doesNotMatch(screen, /summaries|omitted|covered/);
    assert.match(
      screen,
      /12 model calls, 34,567 tokens in \(30,000 cached, 87 %\), 890 out\n {2}by today's prices: cost unknown \(no price is known of big, small\)\n {2}of that for compactions: 2 model calls, 4,567 tokens in, 890 out; cost unknown \(no price is known of small\)\n {2}largest request so far: 9,876 tokens$/,
    );
    assert.match(
      screen,
      /compactions so far: 2 background, 1 aggressive; 9,000 tokens of messages told in 800\n {4}tokens saved: background 8,000, aggressive 200; 1 written ahead and landed, 1 written ahead and waiting, 2 void since something changed meanwhile\n/,
    );
  });

  test("says what was spent in dollars, and of which models the price is not known", () => {
    const prices = new Map([["big", { input: 2, cached: 0.5, write: 2, output: 10 }]]);
    const { spent: told } = report(chatter(3).history, 12_000, null, (model) => prices.get(model));
    assert.deepEqual(told.cost, { dollars: 0.015, unpriced: ["small"], uncounted: 0 });
    assert.deepEqual(told.compactions.cost, { dollars: null, unpriced: ["small"], uncounted: 0 });
    prices.set("small", { input: 1, cached: 1, write: 1, output: 1 });
    const whole = report(chatter(3).history, 12_000, null, (model) => prices.get(model));
    assert.match(formatContextReport(whole, TIME), /by today's prices: \$0\.0205\n.* 890 out; \$0\.0055\n/);
  });

  test("says what is covered and what is omitted, and fills its bar at most", () => {
    const { history } = chatter(20);
    const firstAt = new Date("2026-11-21T14:05:00Z");
    const lastAt = new Date("2026-11-21T15:05:00Z");
    const omission = { fromSeq: 1, toSeq: 9, count: 1234, tokens: 90_000, firstAt, lastAt };
    const screen = formatContextReport(report({ ...history, omission, coveredTo: 3, omittedTo: 9 }), TIME);
    assert.match(screen, /█{40}/);
    assert.match(screen, /covered: entries 1–3\n/);
    const ahead = [{ kind: "leaf" as const, fromSeq: 4, toSeq: 7 }];
    const written = formatContextReport(report({ ...history, ahead, coveredTo: 3 }), TIME);
    assert.match(written, /summarised ahead: entries 4–7, until room is wanted\n/);
    assert.match(
      screen,
      /omitted: 1,234 older messages \(90,000 tokens, 2026-11-21 14:05 to 2026-11-21 15:05\); the log still has them/,
    );
  });
});
