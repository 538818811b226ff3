import { counted } from "../text/text.ts";
import { displayableLine } from "../text/displayable.ts";
import type { ContextReport } from "./context-report.ts";

const BAR_WIDTH = 40;

/** The report as a screen that explains itself. Pure. */
export function formatContextReport(report: ContextReport): string {
  const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
  const number = (value: number): string => value.toLocaleString("en-US");
  const lines = [
    displayableLine(`${report.channel} · agent ${report.agent} · model ${report.model}`),
    "",
    `  ${usageBar(report)}  ${percent(report.usage)} of ${number(report.usable)} usable tokens`,
    `  window ${number(report.window)}, of which ${number(report.reserve)} are kept for the answer`,
    `  marks: background ${percent(report.thresholds.background)}, aggressive ${percent(report.thresholds.aggressive)}, emergency ${percent(report.thresholds.emergency)}`,
    "",
    ...report.segments
      .filter(({ tokens }) => tokens > 0)
      .map(
        ({ label, tokens, count }) =>
          `  ${label.padEnd(24)} ${number(tokens).padStart(9)} tokens  ${counted(count, "item").padStart(12)}`,
      ),
    "",
    `  log: ${counted(report.log.entries, "entry", "entries")}, ${number(report.log.due)} waiting for an answer`,
  ];
  if (report.log.coveredTo > 0) lines.push(`  covered: entries 1–${number(report.log.coveredTo)}`);
  if (report.omission !== null) {
    const { count, tokens, firstAt, lastAt } = report.omission;
    lines.push(
      `  omitted: ${counted(count, "older message")} (${number(tokens)} tokens, ${minute(firstAt)} to ${minute(lastAt)}); the log still has them`,
    );
  }
  const { calls, promptTokens, cachedTokens, completionTokens } = report.spent;
  lines.push(
    `  spent so far: ${counted(calls, "model call")}, ${number(promptTokens)} tokens in (${number(cachedTokens)} cached), ${number(completionTokens)} out`,
  );
  return lines.join("\n");
}

function minute(date: Date): string {
  return date.toISOString().slice(0, 16).replace("T", " ");
}

function usageBar({ usage, thresholds }: ContextReport): string {
  const filled = Math.min(BAR_WIDTH, Math.round(usage * BAR_WIDTH));
  const cells: string[] = Array.from({ length: BAR_WIDTH }, (_, index) => (index < filled ? "█" : "░"));
  for (const share of Object.values(thresholds)) {
    const place = Math.min(BAR_WIDTH - 1, Math.floor(share * BAR_WIDTH));
    if (place >= filled) cells[place] = "┊";
  }
  return cells.join("");
}
