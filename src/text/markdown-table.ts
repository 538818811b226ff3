import { cellWidth } from "./columns.ts";

/** The cells of one line of a Markdown table. Pure. */
export function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

export interface ColumnStyle {
  /** Between two columns. */
  readonly gap: string;
  /** Between two columns in the rule below the head; as wide as `gap`. */
  readonly ruleGap: string;
  /** Narrowest column, in cells. */
  readonly minWidth: number;
}

/**
 * The rows of a table as lines of fixed-width text, with a rule below the first row. Widths are counted as a
 * fixed-width font shows them: an East Asian wide character takes two cells. Pure.
 */
export function alignColumns(
  rows: readonly (readonly string[])[],
  { gap, ruleGap, minWidth }: ColumnStyle,
): string[] {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(minWidth, ...rows.map((row) => cellWidth(row[column] ?? ""))),
  );
  const [head = "", ...body] = rows.map((row) =>
    widths
      .map((width, column) => padded(row[column] ?? "", width))
      .join(gap)
      .trimEnd(),
  );
  return [head, widths.map((width) => "-".repeat(width)).join(ruleGap), ...body];
}

function padded(text: string, width: number): string {
  return text + " ".repeat(width - cellWidth(text));
}
