import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatTuning, type TuneReport } from "../../src/tune/format.ts";
import { simulationOf } from "./channel.ts";

const column: TuneReport["columns"][number] = {
  name: "now",
  settings: { "compaction.target": "0.6" },
  window: 8192,
  usable: 7168,
  outcome: simulationOf({}).outcome,
  visible: null,
};
const REPORT: TuneReport = {
  channel: "terminal:main",
  agent: "main",
  model: "some-model",
  from: 1,
  to: 1200,
  assumed: {
    tokensPerEstimated: 1.125,
    summariserSeconds: 8.04,
    summariserSecondsFrom: "calls",
    summaryShare: { leaf: 0.075, merge: null },
    summaryShareFrom: "models",
  },
  columns: [
    column,
    { ...column, name: "changed", settings: { "compaction.target": "0.45" }, window: 131_072 },
  ],
};

describe("the table of a replay", () => {
  test("has a column for each list of settings, its numbers at the right, and no number that is none", () => {
    const lines = formatTuning(REPORT).split("\n");
    const [setting, window] = [
      lines.find((line) => line.startsWith("compaction.target")),
      lines.find((line) => line.startsWith("window")),
    ];
    assert.match(setting ?? "", /0\.6 +0\.45$/);
    assert.match(window ?? "", /8,192 +131,072$/);
    assert.equal(setting?.length, window?.length);
    assert.doesNotMatch(lines.join("\n"), /NaN|undefined|null|Infinity/);
  });

  test("says what was assumed", () => {
    const text = formatTuning(REPORT);
    assert.match(text, /Tokens are those of some-model: 1\.13 for each that Weir estimates\./);
    assert.match(
      text,
      /A summary is 7\.5 % of its source, as this channel's own summaries are, a merged one as long as it may be/,
    );
    assert.match(text, /takes 8\.0 s \(the median of this channel's own calls\)/);
    const unknown = {
      ...REPORT.assumed,
      tokensPerEstimated: 1,
      summaryShareFrom: null,
      summariserSecondsFrom: "default",
    } as const;
    const other = formatTuning({ ...REPORT, assumed: unknown });
    assert.match(other, /Tokens are Weir's estimates\./);
    assert.match(
      other,
      /A summary is as long as it may be: this channel has none yet to learn from\. .*assumed, for none/,
    );
  });

  test("names what a turn saw by ranges", () => {
    const visible = {
      turn: 7,
      fromSeq: 900,
      toSeq: 901,
      tokens: 4100,
      ranges: [
        { kind: "reset", fromSeq: 1, toSeq: 20, level: null, tokens: 0 },
        { kind: "summary", fromSeq: 21, toSeq: 800, level: 2, tokens: 120 },
        { kind: "omitted", fromSeq: 801, toSeq: 850, level: null, tokens: 100 },
        { kind: "raw", fromSeq: 851, toSeq: 901, level: null, tokens: 2500 },
      ],
    } as const;
    const lines = formatTuning({ ...REPORT, columns: [{ ...column, visible }] }).split("\n");
    const start = lines.indexOf("now: turn 7, which answers entries 900–901, with about 4,100 tokens, sees");
    assert.deepEqual(lines.slice(start + 1, start + 5), [
      "  1–20             nothing: a reset, or the beginning of what is played",
      "  21–800           a summary of level 2, about 120 tokens",
      "  801–850          left out, with an extract of about 100 tokens",
      "  851–901          as it was said, about 2,500 tokens",
    ]);
  });
});
