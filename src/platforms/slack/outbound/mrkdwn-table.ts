import { alignColumns, cellsOf } from "../../../text/markdown-table.ts";

/** `|---|:--:|` under the head of a table. Pure. */
export function isTableRule(line: string): boolean {
  return line.includes("-") && line.includes("|") && /^[\s|:-]+$/.test(line);
}

const COLUMNS = { gap: " | ", ruleGap: "-+-", minWidth: 0 };

/** Rows of a Markdown table as columns of the same width. Pure. */
export function asColumns(rows: readonly string[]): string {
  return alignColumns(
    rows.map((row) => cellsOf(row).map(plain)),
    COLUMNS,
  ).join("\n");
}

/** Nothing is markup in a code block. */
function plain(cell: string): string {
  return cell
    .replaceAll(/\*\*([^*]+)\*\*/g, "$1")
    .replaceAll(/`([^`]+)`/g, "$1")
    .replaceAll(/\[([^\]]+)\]\([^)\s]+\)/g, "$1");
}
