import { isFileKind } from "../../context/sections/section.ts";
import type { Bar, Card } from "../../core/card.ts";
import type { Pressure } from "../../core/context.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import {
  describeCounts,
  describeCut,
  describeJob,
  describeMemories,
  describeNext,
  describePhases,
  describeReason,
  describeSummaries,
  describeUsage,
  describeWindow,
  minute,
  percent,
} from "./channel-format.ts";
import type { ChannelReport } from "./channel-report.ts";
import type { ContextReport, SectionReport } from "./context-report.ts";
import { about, describeCached, describeCost } from "./cost-format.ts";

const TONES: Readonly<Record<Pressure, Card["tone"]>> = {
  low: "calm",
  medium: "calm",
  high: "warning",
  critical: "critical",
};

type Field = Card["fields"][number];

/**
 * The report as a card. Pure.
 * @param text the same report as the text answer shows it: the card says nothing that is not in it
 */
export function contextCard(report: ChannelReport, time: TimeFormat, text: string): Card {
  const { channel, agent, model, pressure, usage, thresholds } = report;
  return {
    title: displayableLine(`${channel} · agent ${agent} · model ${model}`),
    summary: describeUsage(report),
    tone: TONES[pressure],
    bar: { share: usage, marks: tierMarks(thresholds) },
    fields: [
      ...windowFields(report, time),
      ...logFields(report),
      ...compactionFields(report),
      ...spentFields(report),
    ].filter(({ value }) => value !== ""),
    lists: [
      { label: "Cost by type", lines: typeLines(report) },
      { label: "Made of", lines: partLines(report) },
      {
        label: "From the agent's folder",
        lines: report.sections.filter(({ kind }) => isFileKind(kind)).map(fileLine),
      },
      { label: "Being done", lines: describeJob(report, time) },
      headed(describeSummaries(report)),
      headed(describeMemories(report, time)),
    ].filter(({ lines }) => lines.length > 0),
    text,
  };
}

export function tierMarks(thresholds: ContextReport["thresholds"]): Bar["marks"] {
  return Object.entries(thresholds).map(([tier, share]) => ({ label: `${tier} ${percent(share)}`, share }));
}

function windowFields(report: ContextReport, time: TimeFormat): Field[] {
  const { spent, monitor } = report;
  return [
    { label: "Window", value: describeWindow(report, time) },
    { label: "Next mark", value: describeNext(monitor).join("") },
    {
      label: "Largest request so far",
      value: spent.peakTokens > 0 ? `${formatNumber(spent.peakTokens)} tokens` : "",
    },
  ];
}

function logFields({ log, omission }: ContextReport): Field[] {
  const { entries, due, coveredTo, writtenTo } = log;
  const ahead = `entries ${formatNumber(coveredTo + 1)}–${formatNumber(writtenTo)}, until room is wanted`;
  return [
    {
      label: "Log",
      value: `${counted(entries, "entry", "entries")}, ${formatNumber(due)} waiting for an answer`,
    },
    { label: "Covered", value: coveredTo > 0 ? `entries 1–${formatNumber(coveredTo)}` : "" },
    { label: "Summarised ahead", value: writtenTo > coveredTo ? ahead : "" },
    {
      label: "Omitted",
      value:
        omission === null
          ? ""
          : `${counted(omission.count, "older message")} (${formatNumber(omission.tokens)} tokens, ${minute(omission.firstAt)} to ${minute(omission.lastAt)})`,
    },
  ];
}

function compactionFields({ compactions }: ContextReport): Field[] {
  const { committed, saved } = compactions;
  const done = Object.entries(committed)
    .filter(([, count]) => count > 0)
    .map(([tier, count]) => `${formatNumber(count)} ${tier}`);
  return [
    { label: "Compactions so far", value: done.join(", ") },
    { label: "Tokens saved", value: done.length === 0 ? "" : describeCounts(saved) },
    { label: "Phases", value: describePhases(compactions) },
  ];
}

function spentFields({ spent }: ContextReport): Field[] {
  const { calls, promptTokens, completionTokens, cost, compactions } = spent;
  if (calls === 0) return [];
  return [
    {
      label: "Spent so far",
      value: `${counted(calls, "model call")}, ${about(cost.uncounted)}${formatNumber(promptTokens)} tokens in, ${formatNumber(completionTokens)} out`,
    },
    { label: "Of that from the cache", value: describeCached(spent) },
    { label: "By today's prices", value: describeCost(cost) },
    {
      label: "Of that for compactions",
      value:
        compactions.calls === 0
          ? ""
          : `${counted(compactions.calls, "model call")}; ${describeCost(compactions.cost)}`,
    },
  ];
}

/** `history 2,210`, the largest first. */
function typeLines({ types }: ContextReport): string[] {
  const sorted = Object.entries(types).toSorted(([, a], [, b]) => b - a);
  return sorted
    .filter(([, tokens]) => tokens !== 0)
    .map(([type, tokens]) => `${type} ${formatNumber(tokens)}`);
}

function partLines({ segments }: ContextReport): string[] {
  return segments
    .filter(({ tokens }) => tokens > 0)
    .map(({ label, tokens, count }) => `${label}: ${formatNumber(tokens)} tokens, ${counted(count, "item")}`);
}

function fileLine(section: SectionReport): string {
  const { key, source, tokens } = section;
  return displayableLine(
    `${key}: ${formatNumber(tokens.after)} tokens, ${source} (${describeReason(section)}${describeCut(section)})`,
  );
}

/** The first line, which ends with a colon, names the others. A line alone says that there is nothing. */
function headed([head = "", ...lines]: readonly string[]): Card["lists"][number] {
  return { label: head.replace(/:$/, ""), lines: lines.map((line) => line.replace(/^ {2}/, "")) };
}
