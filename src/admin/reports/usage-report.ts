import { type Cost, costOf, type ModelPrice, totalSpending } from "../../core/cost.ts";
import type { UsageKey } from "../../core/listings.ts";
import type { Usage } from "../../store/turns/usage.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatDollars, formatNumber } from "../../text/format.ts";
import { alignNumbers } from "../../text/markdown-table.ts";
import { parseSpan } from "../../text/when.ts";
import { describeCost } from "./cost-format.ts";

export interface UsageLine {
  /** Null: no person has asked for it. */
  readonly key: string | null;
  readonly name: string;
  readonly calls: number;
  readonly tokensIn: number;
  /** Parts of `tokensIn`: read from a cache, and written to it. */
  readonly tokensCached: number;
  readonly tokensWritten: number;
  readonly tokensOut: number;
  readonly cost: Cost;
}

export interface UsageReport {
  readonly by: UsageKey;
  readonly since: Date;
  /** Days in their order; other keys by cost, highest first. */
  readonly lines: readonly UsageLine[];
  readonly total: Omit<UsageLine, "key" | "name">;
}

/** Adds up spendings by key, at the prices of today. Pure. */
export function reportUsage(
  by: UsageKey,
  since: Date,
  usages: readonly Usage[],
  priceOf: (model: string) => ModelPrice | undefined,
): UsageReport {
  const ofKey = Map.groupBy(usages, ({ key }) => key);
  const lines = Array.from(ofKey, ([key, all]) => ({
    key,
    name: all.at(-1)?.name ?? "",
    ...sum(all, priceOf),
  }));
  const weight = ({ cost, tokensIn, tokensOut }: UsageLine): readonly [number, number] => [
    cost.dollars ?? 0,
    tokensIn + tokensOut,
  ];
  const byWeight = (a: UsageLine, b: UsageLine): number => {
    const [[dollarsA, tokensA], [dollarsB, tokensB]] = [weight(a), weight(b)];
    return dollarsB - dollarsA || tokensB - tokensA;
  };
  const isDay = by === "day";
  return { by, since, lines: isDay ? lines : lines.toSorted(byWeight), total: sum(usages, priceOf) };
}

function sum(
  usages: readonly Usage[],
  priceOf: (model: string) => ModelPrice | undefined,
): UsageReport["total"] {
  const { calls, promptTokens, cachedTokens, writtenTokens, completionTokens } = totalSpending(usages);
  return {
    calls,
    tokensIn: promptTokens,
    tokensCached: cachedTokens,
    tokensWritten: writtenTokens,
    tokensOut: completionTokens,
    cost: costOf(usages, priceOf),
  };
}

const NOBODY = "(nobody)";

/** The report as a table for a person, with what its sums leave out. Pure. */
export function formatUsage(report: UsageReport): string {
  if (report.lines.length === 0) return "No model was called in that time.";
  const { head, rows } = usageTable(report);
  const table = alignNumbers([head, ...rows], { gap: "  ", ruleGap: "  ", minWidth: 3 });
  return [...table, ...usageNotes(report)].join("\n");
}

/** The cells of the table: a row for each line, and of several a last one for all. Pure. */
export function usageTable({ by, lines, total }: UsageReport): {
  readonly head: string[];
  readonly rows: string[][];
} {
  const named = ({ key, name }: UsageLine): string =>
    key === null ? NOBODY : displayableLine(name === "" ? key : `${key} ${name}`);
  // Most providers do not report it.
  const isTold = total.tokensWritten > 0;
  const written = isTold ? ["written"] : [];
  return {
    head: [by, "calls", "tokens in", "cached", ...written, "tokens out", "cost"],
    rows: [
      ...lines.map((line) => [named(line), ...numbers(line, isTold)]),
      ...(lines.length === 1 ? [] : [["all", ...numbers(total, isTold)]]),
    ],
  };
}

/** What the sums leave out, each in a sentence. Pure. */
export function usageNotes({ lines, total }: UsageReport): string[] {
  const { unpriced, uncounted } = total.cost;
  const isWhole = unpriced.length + uncounted === 0;
  return [
    ...(isWhole ? [] : [`In all: ${describeCost(total.cost)}.`]),
    ...(lines.some(({ key }) => key === null)
      ? [
          `${NOBODY}: summaries, embeddings, transcripts, and work of Weir's own that no person has asked for.`,
        ]
      : []),
  ];
}

const SHEET_HEAD = [
  "name",
  "calls",
  "tokens_in",
  "tokens_cached",
  "tokens_written",
  "tokens_out",
  "dollars",
  "estimated_calls",
  "models_without_price",
];

/** The report as the rows of a sheet, in plain numbers; no dollars where no price is known. Pure. */
export function usageSheet({ by, lines }: UsageReport): string[][] {
  return [
    [by, ...SHEET_HEAD],
    ...lines.map(({ key, name, calls, tokensIn, tokensCached, tokensWritten, tokensOut, cost }): string[] => [
      key ?? "",
      name,
      ...[calls, tokensIn, tokensCached, tokensWritten, tokensOut, cost.dollars ?? ""].map(String),
      String(cost.uncounted),
      cost.unpriced.join(" "),
    ]),
  ];
}

function numbers(
  { calls, tokensIn, tokensCached, tokensWritten, tokensOut, cost }: Omit<UsageLine, "key" | "name">,
  isWrittenTold: boolean,
): string[] {
  const estimated = cost.uncounted > 0 ? "~ " : "";
  const mark = cost.unpriced.length > 0 ? "≥ " : estimated;
  const dollars = cost.dollars === null ? "unknown" : `${mark}${formatDollars(cost.dollars)}`;
  return [
    formatNumber(calls),
    `${estimated}${formatNumber(tokensIn)}`,
    formatNumber(tokensCached),
    ...(isWrittenTold ? [formatNumber(tokensWritten)] : []),
    `${estimated}${formatNumber(tokensOut)}`,
    dollars,
  ];
}

const LONGEST_MS = 3_660 * 86_400_000;

/**
 * `7d`, `12h`, or a day, `2026-11-01`, which begins in UTC. Pure.
 * @returns null: the text has none of these forms, or the time is not a possible one
 */
export function parseSince(text: string, now: Date): Date | null {
  const said = text.trim();
  const day = /^\d{4}-\d{2}-\d{2}$/.test(said) ? Date.parse(`${said}T00:00:00Z`) : Number.NaN;
  const ms = Number.isNaN(day) ? parseSpan(said) : now.getTime() - day;
  return ms === null || ms <= 0 || ms > LONGEST_MS ? null : new Date(now.getTime() - ms);
}
