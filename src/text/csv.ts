/** What a spreadsheet takes for a formula, where a cell begins so. */
const FORMULA = /^[\s=+\-@|%]/;

/**
 * Rows as CSV (RFC 4180), each cell in quotes. A text that a spreadsheet would run as a formula gets an apostrophe before it.
 * Pure.
 */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `${cells.map(cellOf).join(",")}\r\n`).join("");
}

function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
