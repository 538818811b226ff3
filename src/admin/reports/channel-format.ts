import type { WindowSource } from "../../llm/catalog/known-windows.ts";
import { whoseOf } from "../../core/memory.ts";
import { formatNumber } from "../../text/format.ts";
import { cellOf, filledCells } from "../../text/gauge.ts";
import { withoutEscapes } from "../../context/labels.ts";
import { isFileKind } from "../../context/sections/section.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { displayableLine, firstWords } from "../../text/displayable.ts";
import type { MemoryRecord } from "../../store/memory/memories.ts";
import { type ChannelReport, MAX_MEMORIES } from "./channel-report.ts";
import type { CompactionTotals } from "../../store/compaction/compactions.ts";
import { about, describeCached, describeCost } from "./cost-format.ts";
import type { CompactionMonitor, NextMark } from "./compaction-monitor.ts";
import type { ContextReport, SectionReport } from "./context-report.ts";

/** Memories shown on the screen; the JSON form has them all. */
const SHOWN_MEMORIES = 5;
/** Characters of a summary shown on the screen. */
const SHOWN_TEXT = 100;

/** The report as a screen that explains itself. Pure. */
export function formatChannelReport(report: ChannelReport, time: TimeFormat): string {
  const sections = [describeSummaries(report), describeJob(report, time), describeMemories(report, time)];
  return [
    formatContextReport(report, time),
    ...sections
      .filter((lines) => lines.length > 0)
      .map((lines) => `\n${lines.map((line) => `  ${line}`).join("\n")}`),
  ].join("\n");
}

export function describeSummaries({ summaries }: ChannelReport): string[] {
  if (summaries.length === 0) return ["Nothing is summarised yet."];
  const items = summaries.flatMap((summary) => {
    const { fromSeq, toSeq, entries, level, tokens } = summary;
    const range = `entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)} (${formatNumber(entries)})`;
    if (summary.kind === "reset") return [`  ${range}, reset: the model is shown nothing of them`];
    const madeBy = summary.kind === "digest" ? "extract without a model" : "by a model";
    const redo = summary.needsRedo ? ", to be written again" : "";
    return [
      `  ${range}, level ${level}, ${counted(tokens, "token")}, ${madeBy}${redo}`,
      `    ${firstWords(withoutEscapes(summary.text), SHOWN_TEXT)}`,
    ];
  });
  return ["Summarised, oldest first:", ...items];
}

const DOING = {
  leaf: "Being summarised",
  merge: "Summaries being merged",
  redo: "A summary being written again",
} as const;

export function describeJob({ job }: ChannelReport, time: TimeFormat): string[] {
  if (job === null) return [];
  const attempt = job.attempt > 1 ? `, attempt ${job.attempt}` : "";
  const range = `entries ${formatNumber(job.fromSeq)}–${formatNumber(job.toSeq)}, about ${counted(job.sourceTokens, "token")}`;
  const since = `since ${time.minute(job.since)}, for ${(job.ms / 1000).toFixed(1)} s now`;
  return [`${DOING[job.kind]}: ${range} (${job.tier}, ${since}${attempt})`];
}

export function describeMemories({ memories }: ChannelReport, time: TimeFormat): string[] {
  if (memories.length === 0) return ["Nothing is remembered yet."];
  const count = counted(memories.length, "memory", "memories");
  const total = memories.length < MAX_MEMORIES ? count : `${count} or more`;
  const head = memories.length > SHOWN_MEMORIES ? `${total}, the newest ${SHOWN_MEMORIES}:` : `${total}:`;
  return [head, ...memories.slice(0, SHOWN_MEMORIES).map((memory) => `  ${describeMemory(memory, time)}`)];
}

/** `decision · The picnic is on Saturday — Ann, 2026-11-20, entry 123` */
function describeMemory(memory: MemoryRecord, time: TimeFormat): string {
  const { type, statement, at, sources } = memory;
  const seqs = sources.map(({ seq }) => formatNumber(seq)).join(" and ");
  const source = `${displayableLine(whoseOf(memory))}, ${time.day(at)}, ${sources.length === 1 ? "entry" : "entries"} ${seqs}`;
  return `${type} · ${displayableLine(statement)} — ${source}`;
}

const BAR_WIDTH = 40;

/** `54 %`, `3.2 %` */
export function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** `54 % of 11,904 usable tokens: low`. Pure. */
export function describeUsage(report: Pick<ContextReport, "usage" | "usable" | "pressure">): string {
  const { usage, usable, pressure } = report;
  return `${percent(usage)} of ${formatNumber(usable)} usable tokens: ${pressure}`;
}

const KNOWN_BY: Readonly<Record<WindowSource, string>> = {
  configured: "as it is configured",
  listed: "as the server says",
  told: "which a refusal has told",
  measured: "which the server's counts show",
  guessed: "found by what was refused and what was answered",
  table: "from the table of known models",
  assumed: "assumed, for nobody says it",
};

/** The source of a window, and its expiry: `which a refusal has told, believed until 2026-12-27 14:05`. Pure. */
export function describeKnown(source: WindowSource, until: Date | null, time: TimeFormat): string {
  return KNOWN_BY[source] + (until === null ? "" : `, believed until ${time.minute(until)}`);
}

export function describeWindow(
  parts: Pick<ContextReport, "window" | "windowSource" | "windowUntil" | "reserve">,
  time: TimeFormat,
): string {
  const { window, windowSource, windowUntil, reserve } = parts;
  const known = describeKnown(windowSource, windowUntil, time);
  return `${formatNumber(window)} (${known}), of which ${formatNumber(reserve)} are kept for the answer`;
}

/** The report as a screen that explains itself. Pure. */
export function formatContextReport(report: ContextReport, time: TimeFormat): string {
  const lines = [
    displayableLine(`${report.channel} · agent ${report.agent} · model ${report.model}`),
    "",
    `  ${usageBar(report)}  ${describeUsage(report)}`,
    `  window ${describeWindow(report, time)}`,
    `  marks: background ${percent(report.thresholds.background)}, aggressive ${percent(report.thresholds.aggressive)}, emergency ${percent(report.thresholds.emergency)}`,
    ...describeNext(report.monitor).map((line) => `  next: ${line}`),
    "",
    ...segmentRows(report.segments),
    `  by type: ${describeCounts(report.types)}`,
    ...formatSections(
      "from the agent's folder",
      report.sections.filter(({ kind }) => isFileKind(kind)),
    ),
    "",
    `  log: ${counted(report.log.entries, "entry", "entries")}, ${formatNumber(report.log.due)} waiting for an answer`,
  ];
  const { coveredTo, writtenTo } = report.log;
  if (coveredTo > 0) lines.push(`  covered: entries 1–${formatNumber(coveredTo)}`);
  if (writtenTo > coveredTo)
    lines.push(
      `  summarised ahead: entries ${formatNumber(coveredTo + 1)}–${formatNumber(writtenTo)}, until room is wanted`,
    );
  if (report.omission !== null) {
    const { count, tokens, firstAt, lastAt } = report.omission;
    lines.push(
      `  omitted: ${counted(count, "older message")} (${formatNumber(tokens)} tokens, ${minute(firstAt)} to ${minute(lastAt)}); the log still has them`,
    );
  }
  lines.push(...describeCompactions(report.compactions).map((line) => `  ${line}`));
  lines.push(...describeSpent(report.spent));
  const { peakTokens } = report.spent;
  if (peakTokens > 0) lines.push(`  largest request so far: ${formatNumber(peakTokens)} tokens`);
  return lines.join("\n");
}

const NEXT_BY: Readonly<Record<NextMark["by"], string>> = {
  window: "",
  max_raw_tokens: ", by the length of the messages (max_raw_tokens)",
  max_raw_messages: ", by the number of messages (max_raw_messages)",
};

/** `background at 13,900 tokens, 2,100 more, by the length of the messages (max_raw_tokens)`; empty: no mark is left. Pure. */
export function describeNext({
  next,
  keptForRecall,
}: Pick<CompactionMonitor, "next" | "keptForRecall">): string[] {
  if (next === null) return [];
  const { tier, at, left, by } = next;
  const isEarlier = tier === "background" && by === "window" && keptForRecall > 0;
  const kept = isEarlier ? ` (${formatNumber(keptForRecall)} are kept free for recall)` : "";
  return [`${tier} at ${formatNumber(at)} tokens, ${formatNumber(left)} more${NEXT_BY[by]}${kept}`];
}

/** The segments that have any tokens, one a line. Pure. */
export function segmentRows(segments: ContextReport["segments"]): string[] {
  return segments
    .filter(({ tokens }) => tokens > 0)
    .map(
      ({ label, tokens, count }) =>
        `  ${label.padEnd(24)} ${formatNumber(tokens).padStart(9)} tokens  ${counted(count, "item").padStart(12)}`,
    );
}

function describeSpent({ cost, compactions, ...spent }: ContextReport["spent"]): string[] {
  const { calls, promptTokens, completionTokens } = spent;
  const cached = describeCached(spent);
  const tokens = `${about(cost.uncounted)}${formatNumber(promptTokens)} tokens in (${cached}), ${formatNumber(completionTokens)} out`;
  const lines = [`  spent so far: ${counted(calls, "model call")}, ${tokens}`];
  if (calls > 0) lines.push(`  by today's prices: ${describeCost(cost)}`);
  if (compactions.calls > 0) {
    const inTokens = `${about(compactions.cost.uncounted)}${formatNumber(compactions.promptTokens)} tokens in`;
    const part = `${counted(compactions.calls, "model call")}, ${inTokens}`;
    lines.push(
      `  of that for compactions: ${part}, ${formatNumber(compactions.completionTokens)} out; ${describeCost(compactions.cost)}`,
    );
  }
  return lines;
}

/** `system 340, tools 120, history 2,210`: what is not 0. */
export function describeCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name} ${formatNumber(count)}`)
    .join(", ");
}

/** A channel's compactions so far, in a line or two; empty: there were no compactions. */
function describeCompactions(totals: CompactionTotals): string[] {
  const { committed, saved, landed, waiting, failed, stale, sourceTokens, summaryTokens } = totals;
  const tiers = Object.entries(committed).filter(([, count]) => count > 0);
  const phases = describePhases({ landed, waiting, failed, stale });
  if (tiers.length === 0) return phases === "" ? [] : [`compactions so far: none is in the view; ${phases}`];
  const list = tiers.map(([tier, count]) => `${formatNumber(count)} ${tier}`).join(", ");
  const told = `${counted(sourceTokens, "token")} of messages told in ${formatNumber(summaryTokens)}`;
  const savedList = describeCounts(saved);
  const second = [savedList === "" ? "" : `tokens saved: ${savedList}`, phases].filter((part) => part !== "");
  const first = `compactions so far: ${list}; ${told}`;
  return second.length === 0 ? [first] : [first, `  ${second.join("; ")}`];
}

export function describePhases(
  totals: Pick<CompactionTotals, "landed" | "waiting" | "failed" | "stale">,
): string {
  const { landed, waiting, failed, stale } = totals;
  const said = [
    [landed, "written ahead and landed"],
    [waiting, "written ahead and waiting"],
    [failed, "failed"],
    [stale, "void since something changed meanwhile"],
  ] as const;
  return said
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${formatNumber(count)} ${what}`)
    .join(", ");
}

/** The sections, one a line: size, source and reason. Pure. */
export function formatSections(head: string, sections: readonly SectionReport[]): string[] {
  return sections.length === 0
    ? []
    : ["", `  ${head}:`, ...sections.map((section) => `    ${sectionRow(section)}`)];
}

export function sectionRow(section: SectionReport): string {
  const { key, source, tokens } = section;
  const size = `${formatNumber(tokens.after)} tokens`;
  const why = `${describeReason(section)}${describeCut(section)}`;
  return displayableLine(`${key.padEnd(20)} ${size.padStart(13)}  ${source} (${why})`);
}

export function describeReason({ reason, evidence }: Pick<SectionReport, "reason" | "evidence">): string {
  return evidence.length === 0 ? reason : `${reason}; more so for ${evidence.join(", ")}`;
}

/** `, cut from 12,000 to 900 characters`; nothing where it is whole. */
export function describeCut({ state, characters }: Pick<SectionReport, "state" | "characters">): string {
  const [before, after] = [formatNumber(characters.before), formatNumber(characters.after)];
  if (state === "cut") return `, cut from ${before} to ${after} characters`;
  return state === "left out" ? `, left out: no room for its ${before} characters` : "";
}

export function minute(date: Date): string {
  return date.toISOString().slice(0, 16).replace("T", " ");
}

function usageBar({ usage, thresholds }: ContextReport): string {
  const filled = filledCells(usage, BAR_WIDTH);
  const cells: string[] = Array.from({ length: BAR_WIDTH }, (_, index) => (index < filled ? "█" : "░"));
  for (const share of Object.values(thresholds)) {
    const place = cellOf(share, BAR_WIDTH);
    if (place >= filled) cells[place] = "┊";
  }
  return cells.join("");
}
