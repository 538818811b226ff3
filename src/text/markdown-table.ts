import { cellWidth } from "./columns.ts";

/** The cells of one line of a Markdown table. Pure. */
export function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** `|---|:--:|`, the rule below a table's head. One regular expression would take cubic time. Pure. */
export function isTableRule(line: string): boolean {
  return cellsOf(line).every((cell) => /^:?-+:?$/.test(cell));
}

export interface ColumnStyle {
  /** Text between two columns. */
  readonly gap: string;
  /** The same in the rule below the head; as wide as `gap`. */
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
  const widths = widthsOf(rows, minWidth);
  const [head = "", ...body] = padColumns(rows, gap, widths);
  return [head, widths.map((width) => "-".repeat(width)).join(ruleGap), ...body];
}

/** As {@link alignColumns}, with all columns but the first right-aligned, for numbers. Pure. */
export function alignNumbers(rows: readonly (readonly string[])[], style: ColumnStyle): string[] {
  const widths = widthsOf(rows, style.minWidth);
  const right = (cell: string, column: number): string =>
    column === 0 ? cell : " ".repeat((widths[column] ?? 0) - cellWidth(cell)) + cell;
  return alignColumns(
    rows.map((row) => row.map(right)),
    style,
  );
}

/** Rows as lines of fixed-width text, without a rule. Pure. */
export function padColumns(
  rows: readonly (readonly string[])[],
  gap: string,
  widths: readonly number[] = widthsOf(rows, 0),
): string[] {
  return rows.map((row) =>
    widths
      .map((width, column) => (row[column] ?? "") + " ".repeat(width - cellWidth(row[column] ?? "")))
      .join(gap)
      .trimEnd(),
  );
}

function widthsOf(rows: readonly (readonly string[])[], minWidth: number): number[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: columns }, (_, column) =>
    Math.max(minWidth, ...rows.map((row) => cellWidth(row[column] ?? ""))),
  );
}
