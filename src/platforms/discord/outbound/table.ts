import { alignColumns, cellsOf, isTableRule } from "../../../text/markdown-table.ts";

/** A run of lines: a table, or other text. */
export interface Lines {
  readonly lines: readonly string[];
  readonly isTable: boolean;
}

/** Finds the tables among the lines of a text without code blocks. Pure. */
export function findTables(lines: readonly string[]): Lines[] {
  const found: Lines[] = [];
  let plain: string[] = [];
  for (let at = 0; at < lines.length;) {
    const length = tableLength(lines, at);
    if (length === 0) {
      plain.push(lines[at] ?? "");
      at += 1;
      continue;
    }
    if (plain.length > 0) found.push({ lines: plain, isTable: false });
    plain = [];
    found.push({ lines: lines.slice(at, at + length), isTable: true });
    at += length;
  }
  if (plain.length > 0) found.push({ lines: plain, isTable: false });
  return found;
}

/** Number of lines of the table that starts here; 0: none. */
function tableLength(lines: readonly string[], at: number): number {
  const [head = "", rule = ""] = lines.slice(at, at + 2);
  if (!head.includes("|") || !rule.includes("|") || !isTableRule(rule)) return 0;
  let end = at + 2;
  while (end < lines.length && lines[end]?.includes("|") === true) end += 1;
  return end - at;
}

const COLUMNS = { gap: "  ", ruleGap: "  ", minWidth: 3 };

/** Renders a Markdown table as columns in a code block: Discord has no tables. Pure. */
export function drawTable([head = "", , ...body]: readonly string[]): string {
  const rows = [head, ...body].map((row) =>
    // A code block would show these marks.
    cellsOf(row).map((cell) => cell.replaceAll(/\*\*|__|`+/g, "")),
  );
  return ["```", ...alignColumns(rows, COLUMNS), "```"].join("\n");
}
