import type { CompactionMonitor } from "../../../../admin/reports/compaction-monitor.ts";
import { describeNext } from "../../../../admin/reports/channel-format.ts";
import { formatNumber, formatSpan } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { JobBar, Timeline, Waits } from "./timeline.ts";

/** `0.34 s`, `1.2 s`, `12 s`, `5 min` */
export function seconds(ms: number): string {
  if (ms >= 60_000) return formatSpan(ms);
  const decimals = ms < 1000 ? 2 : ms < 10_000 ? 1 : 0;
  return `${(ms / 1000).toFixed(decimals)} s`;
}

/** `Half of the replies came within 1.2 s; while a summary was being written, within 1.3 s`. Pure. */
export function headline({ waits, waitsBeside }: Pick<Timeline, "waits" | "waitsBeside">): string {
  if (waits.half === null) return "No reply in this time";
  const beside =
    waitsBeside.half === null
      ? ""
      : `; while a summary was being written, within ${seconds(waitsBeside.half)}`;
  return `Half of the replies came within ${seconds(waits.half)}${beside}`;
}

/** What the headline is made of. Pure. */
export function replySentence({
  waits,
  waitsBeside,
  failures,
}: Pick<Timeline, "waits" | "waitsBeside" | "failures">): string {
  const failed = failures.length === 0 ? "" : ` ${counted(failures.length, "turn")} failed.`;
  if (waits.most === null) return failed.trim();
  const all = `${counted(waits.count, "reply", "replies")}, from the message to the first part of the answer; 95 % within ${seconds(waits.most)}.`;
  return `${all} ${besideSentence(waitsBeside)}${failed}`;
}

function besideSentence({ count, most }: Waits): string {
  return most === null
    ? "None came while a summary was being written."
    : `${formatNumber(count)} came while a summary was being written; 95 % of them within ${seconds(most)}.`;
}

/** `Level 61 % of the usable window; next mark: background at 13,900 tokens, 2,100 more.` Pure. */
export function levelSentence(
  level: string,
  monitor: Pick<CompactionMonitor, "next" | "keptForRecall">,
): string {
  const [next] = describeNext(monitor);
  const mark = next === undefined ? "all marks are reached" : `next mark: ${next}`;
  return `Level ${level} of the usable window; ${mark}.`;
}

const ENDS: Readonly<Record<JobBar["job"]["state"], string>> = {
  running: "being written",
  staged: "being written",
  ahead: "written, lands at the next mark",
  committed: "landed",
  failed: "failed",
  stale: "void: its range changed",
  void: "void: a text was changed or deleted",
};

/** `landed, −4,400 tokens`; `failed`. Pure. */
export function jobEnd({ job, saved }: JobBar): string {
  return `${ENDS[job.state]}${job.state === "committed" ? `, ${difference(saved)} tokens` : ""}`;
}

/** `−4,400`; a summary may be longer than what it covers. */
export function difference(saved: number): string {
  return saved < 0 ? `+${formatNumber(-saved)}` : `−${formatNumber(saved)}`;
}
