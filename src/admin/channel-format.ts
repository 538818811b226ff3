import { counted, sliceWhole } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { displayableLine } from "../text/displayable.ts";
import type { MemoryRecord } from "../store/memory/memories.ts";
import { type ChannelReport, MAX_MEMORIES } from "./channel-report.ts";
import { formatContextReport } from "./context-format.ts";

/** Memories that the screen shows; the JSON form has them all. */
const SHOWN_MEMORIES = 5;
/** Characters of a summary that the screen shows. */
const SHOWN_TEXT = 100;

const number = (value: number): string => value.toLocaleString("en-US");

/** The report as a screen that explains itself. Pure. */
export function formatChannelReport(report: ChannelReport, time: TimeFormat): string {
  const sections = [describeSummaries(report), describeJob(report, time), describeMemories(report, time)];
  return [formatContextReport(report), ...sections.filter((lines) => lines.length > 0).map(toSection)].join(
    "\n",
  );
}

function toSection(lines: readonly string[]): string {
  return `\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

function describeSummaries({ summaries }: ChannelReport): string[] {
  if (summaries.length === 0) return ["Nothing is summarised yet."];
  const items = summaries.flatMap((summary) => {
    const { fromSeq, toSeq, entries, level, tokens } = summary;
    const range = `entries ${number(fromSeq)}–${number(toSeq)} (${number(entries)})`;
    if (summary.kind === "reset") return [`  ${range}, reset: the model is shown nothing of them`];
    const madeBy = summary.kind === "digest" ? "extract without a model" : "by a model";
    const redo = summary.needsRedo ? ", to be written again" : "";
    return [
      `  ${range}, level ${level}, ${counted(tokens, "token")}, ${madeBy}${redo}`,
      `    ${firstWords(summary.text)}`,
    ];
  });
  return ["Summarised, oldest first:", ...items];
}

function firstWords(text: string): string {
  const line = displayableLine(text).trim();
  return line.length <= SHOWN_TEXT ? line : `${sliceWhole(line, 0, SHOWN_TEXT).trimEnd()} …`;
}

const DOING = {
  leaf: "Being summarised",
  merge: "Summaries being merged",
  redo: "A summary being written again",
} as const;

function describeJob({ job }: ChannelReport, time: TimeFormat): string[] {
  if (job === null) return [];
  const attempt = job.attempt > 1 ? `, attempt ${job.attempt}` : "";
  const range = `entries ${number(job.fromSeq)}–${number(job.toSeq)}, about ${counted(job.sourceTokens, "token")}`;
  const since = `since ${time.minute(job.since)}, for ${(job.ms / 1000).toFixed(1)} s now`;
  return [`${DOING[job.kind]}: ${range} (${job.tier}, ${since}${attempt})`];
}

function describeMemories({ memories }: ChannelReport, time: TimeFormat): string[] {
  if (memories.length === 0) return ["Nothing is remembered yet."];
  const count = counted(memories.length, "memory", "memories");
  const total = memories.length < MAX_MEMORIES ? count : `${count} or more`;
  const head = memories.length > SHOWN_MEMORIES ? `${total}, the newest ${SHOWN_MEMORIES}:` : `${total}:`;
  return [head, ...memories.slice(0, SHOWN_MEMORIES).map((memory) => `  ${describeMemory(memory, time)}`)];
}

/** `decision · The picnic is on Saturday — Ann, 2026-11-20, entry 123` */
function describeMemory(
  { type, statement, assertedBy, at, sources }: MemoryRecord,
  time: TimeFormat,
): string {
  const seqs = sources.map(({ seq }) => number(seq)).join(" and ");
  const source = `${displayableLine(assertedBy)}, ${time.day(at)}, ${sources.length === 1 ? "entry" : "entries"} ${seqs}`;
  return `${type} · ${displayableLine(statement)} — ${source}`;
}
