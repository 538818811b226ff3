import { cellsOf } from "../../../text/markdown-table.ts";

/** `|---|:--:|` under the head of a table. Pure. */
export function isTableRule(line: string): boolean {
  return line.includes("-") && line.includes("|") && /^[\s|:-]+$/.test(line);
}

/** Rows of a Markdown table as columns of the same width. Pure. */
export function asColumns(rows: readonly string[]): string {
  const cells = rows.map((row) => cellsOf(row).map(plain));
  const count = Math.max(...cells.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const aligned = cells.map((row) =>
    widths
      .map((width, column) => (row[column] ?? "").padEnd(width))
      .join(" | ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "-".repeat(width)).join("-+-");
  return [aligned[0] ?? "", rule, ...aligned.slice(1)].join("\n");
}

/** Nothing is markup in a code block. */
function plain(cell: string): string {
  return cell
    .replaceAll(/\*\*([^*]+)\*\*/g, "$1")
    .replaceAll(/`([^`]+)`/g, "$1")
    .replaceAll(/\[([^\]]+)\]\([^)\s]+\)/g, "$1");
}
