/** A soak in words. Pure. */
import { alignNumbers } from "../../src/text/markdown-table.ts";
import type { MetricRow, Sample } from "./metrics.ts";
import type { SoakReport } from "./run.ts";

/** One look at the daemon. @param seconds how long people talk in all */
export function lineOf({ at, values }: Sample, faults: number, seconds: number): string {
  const of = (name: string): string => shown(values[name] ?? Number.NaN);
  return [
    `${(at / 60).toFixed(1)} of ${(seconds / 60).toFixed(1)} min`,
    `${of("messages said")} said, ${of("questions that wait")} wait, ${faults} faults`,
    `heap ${of("heap used")}, RSS ${of("RSS")} MB`,
    `${of("file descriptors")} fds, ${of("timers")} timers, ${of("connections to Postgres")} connections`,
    `loop p99 ${of("event-loop delay, p99")} ms`,
  ].join("; ");
}

const HEADS = ["", "first", "middle", "last", "most", "growth", "bound"];

export function tableOf({ rows, faults, people, work, warnings }: SoakReport): string[] {
  const cells = rows.map((row) => [
    `${row.name}${row.unit === "" ? "" : `, ${row.unit}`}`,
    ...[row.first, row.middle, row.last, row.most].map(shown),
    shown(row.growth),
    row.settling === null ? "–" : `${shown(row.bound)}${row.grows ? " GROWS" : ""}`,
  ]);
  return [
    ...alignNumbers([HEADS, ...cells], { gap: "  ", ruleGap: "  ", minWidth: 0 }),
    "(growth and its bound are those of the second half)",
    `people: ${counted(Object.entries(people?.done ?? {}))}`,
    `work: ${counted(Object.entries(work))}`,
    `faults: ${counted([...faults])}`,
    `warnings: ${counted([...warnings])}`,
  ];
}

/** What grows, in words; empty: nothing does. */
export function growthOf(rows: readonly MetricRow[]): string[] {
  return rows
    .filter(({ grows }) => grows)
    .map(
      ({ name, unit, growth, bound }) =>
        `"${name}" grew by ${shown(growth)} ${unit} in the second half, and noise explains ${shown(bound)} at most`,
    );
}

function counted(entries: readonly (readonly [string, number])[]): string {
  if (entries.length === 0) return "none";
  return entries.map(([name, count]) => `${count} ${name}`).join(", ");
}

function shown(value: number): string {
  if (Number.isNaN(value)) return "–";
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}
