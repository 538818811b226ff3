import { formatNumber } from "../text/format.ts";
import { alignNumbers } from "../text/markdown-table.ts";
import { counted } from "../text/text.ts";
import { CACHED_PRICE, type Outcome, type Visible, type VisibleRange } from "./tally.ts";

/** A channel's simulated outcome with its present settings and with others. */
export interface TuneReport {
  readonly channel: string;
  readonly agent: string;
  readonly model: string;
  /** The range of replayed entries. */
  readonly from: number;
  readonly to: number;
  readonly assumed: {
    /** The model's tokens for each estimated one; 1: its provider has reported none. */
    readonly tokensPerEstimated: number;
    readonly summariserSeconds: number;
    /** `given`: on the command line; `calls`: the median of this channel's own; `default`: unknown. */
    readonly summariserSecondsFrom: "given" | "calls" | "default";
    /** A summary's tokens relative to its sources': entries, and other summaries; null: its limit. */
    readonly summaryShare: { readonly leaf: number | null; readonly merge: number | null };
    readonly summaryShareFrom: "models" | "extracts" | null;
  };
  /** "now" first. */
  readonly columns: readonly TuneColumn[];
}

export interface TuneColumn {
  readonly name: string;
  /** The tried settings, by their names in config.toml. */
  readonly settings: Readonly<Record<string, string>>;
  readonly window: number;
  /** Tokens of the window that a request may use. */
  readonly usable: number;
  readonly outcome: Outcome;
  /** At the requested turn; null: none was requested. */
  readonly visible: Visible | null;
}

type Row = readonly [what: string, of: (column: TuneColumn) => string];

const STYLE = { gap: "  ", ruleGap: "  ", minWidth: 6 };

const ROWS: readonly Row[] = [
  ["window", ({ window }) => formatNumber(window)],
  ["  tokens that a request may use", ({ usable }) => formatNumber(usable)],
  ["requests of turns", ({ outcome }) => formatNumber(outcome.requests)],
  ["  tokens sent", ({ outcome }) => formatNumber(outcome.tokens.sent)],
  ["  in the prefix of the one before", ({ outcome }) => percent(outcome.tokens.prefixShare)],
  ["  mean, tokens", ({ outcome }) => formatNumber(outcome.tokens.mean)],
  [
    "  largest, tokens",
    ({ outcome: { tokens } }) => `${formatNumber(tokens.largest)} (${percent(tokens.largestShare, 0)})`,
  ],
  ["tokens at full price", ({ outcome }) => formatNumber(outcome.tokens.atFullPrice)],
  [
    "summaries committed",
    ({ outcome: { compactions: all } }) => formatNumber(all.background + all.aggressive + all.emergency),
  ],
  ["  background", ({ outcome }) => formatNumber(outcome.compactions.background)],
  ["  aggressive", ({ outcome }) => formatNumber(outcome.compactions.aggressive)],
  ["  emergency", ({ outcome }) => formatNumber(outcome.compactions.emergency)],
  ["  of them written ahead", ({ outcome }) => formatNumber(outcome.compactions.landed)],
  ["  of them merged ones", ({ outcome }) => formatNumber(outcome.compactions.merges)],
  ["  in so many commits", ({ outcome }) => formatNumber(outcome.compactions.commits)],
  ["summariser: tokens read", ({ outcome }) => formatNumber(outcome.tokens.summariserRead)],
  ["  tokens written", ({ outcome }) => formatNumber(outcome.tokens.summariserWrote)],
  ["emergency omissions", ({ outcome }) => formatNumber(outcome.emergencies.omissions)],
  ["  entries left out", ({ outcome }) => formatNumber(outcome.emergencies.entries)],
  ["  turns that missed some", ({ outcome }) => formatNumber(outcome.emergencies.turns)],
  ["  most messages missed at once", ({ outcome }) => formatNumber(outcome.emergencies.most)],
  ["requests that did not fit", ({ outcome }) => formatNumber(outcome.emergencies.overflows)],
];

/** The report with its assumptions, as a table for a person. Pure. */
export function formatTuning(report: TuneReport): string {
  const { columns } = report;
  if (columns.length === 0) return "";
  return [
    playedRange(report),
    "",
    ...alignNumbers(tuningTable(report), STYLE),
    ...columns.flatMap(({ name, visible }) => (visible === null ? [] : ["", ...visibleLines(name, visible)])),
    "",
    ...assumptions(report),
  ].join("\n");
}

/** Which part of the log was played. Pure. */
export function playedRange({ channel, from, to, columns: [now] }: TuneReport): string {
  const { entries = 0, turns = 0, turnsOfOthers = 0 } = now?.outcome ?? {};
  const others =
    turnsOfOthers === 0
      ? ""
      : ` (${counted(turnsOfOthers, "turn")} of other agents beside, whose requests are not counted)`;
  return `${channel}, entries ${formatNumber(from)}–${formatNumber(to)}: ${counted(entries, "entry", "entries")} and ${counted(turns, "turn")}${others}, played again without a model.`;
}

/** Rows of texts, the head first: what is counted, and a column for each list of settings. Pure. */
export function tuningTable({ columns }: TuneReport): string[][] {
  const keys = [...new Set(columns.flatMap(({ settings }) => Object.keys(settings)))];
  const rows: Row[] = [...keys.map((key): Row => [key, ({ settings }) => settings[key] ?? ""]), ...ROWS];
  return [["", ...columns.map(({ name }) => name)], ...rows.map(([what, of]) => [what, ...columns.map(of)])];
}

function visibleLines(name: string, { turn, fromSeq, toSeq, ranges, tokens }: Visible): string[] {
  const asked =
    fromSeq === toSeq
      ? `entry ${formatNumber(toSeq)}`
      : `entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)}`;
  return [
    `${name}: turn ${turn}, which answers ${asked}, with about ${counted(tokens, "token")}, sees`,
    ...ranges.map(
      (range) =>
        `  ${`${formatNumber(range.fromSeq)}–${formatNumber(range.toSeq)}`.padEnd(15)}  ${describe(range)}`,
    ),
  ];
}

function describe({ kind, level, tokens }: VisibleRange): string {
  const size = `about ${counted(tokens, "token")}`;
  switch (kind) {
    case "summary":
      return `a summary of level ${level}, ${size}`;
    case "reset":
      return "nothing: a reset, or the beginning of what is played";
    case "omitted":
      return tokens === 0 ? "left out" : `left out, with an extract of ${size}`;
    case "raw":
      return `as it was said, ${size}`;
  }
}

/** What the figures take for granted, in sentences. Pure. */
export function assumptions({ model, assumed }: TuneReport): string[] {
  const { tokensPerEstimated: rate, summariserSeconds, summaryShare, summaryShareFrom } = assumed;
  const counts =
    rate === 1
      ? "Tokens are Weir's estimates."
      : `Tokens are those of ${model}: ${rate.toFixed(2)} for each that Weir estimates.`;
  const seconds = summariserSeconds < 0.1 ? summariserSeconds.toFixed(3) : summariserSeconds.toFixed(1);
  const from = {
    given: "as asked",
    calls: "the median of this channel's own calls",
    default: "assumed, for none of this channel's calls is known",
  }[assumed.summariserSecondsFrom];
  const ofWhom = summaryShareFrom === "extracts" ? "extracts without a model" : "summaries";
  const long = (share: number | null): string =>
    share === null ? "as long as it may be" : `${percent(share)} of its source`;
  const length =
    summaryShareFrom === null
      ? "A summary is as long as it may be: this channel has none yet to learn from"
      : `A summary is ${long(summaryShare.leaf)}, as this channel's own ${ofWhom} are, a merged one ${long(summaryShare.merge)}; none is longer than it may be`;
  return [
    `${counts} At full price: a cached token costs ${percent(CACHED_PRICE, 0)}, and what the summariser reads is added.`,
    `${length}. A summariser always works, and takes ${seconds} s (${from}).`,
    "Turns come where they came, find what they found, and make as many requests. What people forced, pictures, and later edits of what is covered are not played.",
  ];
}

function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)} %`;
}
