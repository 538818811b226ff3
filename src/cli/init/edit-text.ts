import { OperatorError } from "../../core/errors.ts";

/** Edits files that people maintain: only the named lines change. Pure. */

/**
 * `.env` with these variables: the line that sets one is replaced, or a commented line for it; a variable without a line is
 * appended.
 * @throws OperatorError if a value cannot stand in such a file
 */
export function withVariables(text: string, variables: Readonly<Record<string, string>>): string {
  let changed = text;
  for (const [name, value] of Object.entries(variables))
    changed = withLine(changed, name, assignment(name, value));
  return changed;
}

function assignment(name: string, value: string): string {
  if (/^[\w./:@+=,~%?&-]*$/.test(value)) return `${name}=${value}`;
  const quote = ["'", '"', "`"].find((one) => !value.includes(one));
  // Within other quotes than single ones, \n is a new line.
  if (quote === undefined || /[\r\n]/.test(value) || (quote !== "'" && value.includes("\\")))
    throw new OperatorError(
      `The value of ${name} has characters that .env cannot hold: set it in the environment.`,
    );
  return `${name}=${quote}${value}${quote}`;
}

function withLine(text: string, name: string, line: string): string {
  const lines = text.split("\n");
  const set = lines.findLastIndex((one) => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`).test(one));
  const shown = lines.findIndex((one) => new RegExp(`^#\\s*${name}=`).test(one));
  const at = set >= 0 ? set : shown;
  if (at < 0) return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${line}\n`;
  if (set >= 0 && opensQuote(lines[set] ?? ""))
    throw new OperatorError(`${name} stands over several lines of .env: change it there by hand.`);
  return lines.with(at, line).join("\n");
}

function opensQuote(line: string): boolean {
  const [, quote = "", rest = ""] = /=\s*(["'`])(.*)/.exec(line) ?? [];
  return quote !== "" && !rest.includes(quote);
}

/**
 * `config.toml` with one key of a table: its line is replaced, or a commented line for it. Without a line, the key is added
 * directly after the table's head, which is added if it is missing.
 * @param value as TOML writes it
 * @throws OperatorError if the present value spans several lines
 */
export function withKey(text: string, table: string, key: string, value: string): string {
  const line = `${key} = ${value}`;
  const lines = text.split("\n");
  const head = lines.findIndex((one) => headOf(one) === table);
  if (head < 0)
    return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}\n[${table}]\n${line}\n`.replace(
      /^\n/,
      "",
    );
  const next = lines.findIndex((one, at) => at > head && headOf(one) !== null);
  const end = next < 0 ? lines.length : next;
  const find = (pattern: RegExp): number =>
    lines.findIndex((one, at) => at > head && at < end && pattern.test(one));
  const set = find(new RegExp(`^\\s*${key}\\s*=`));
  const shown = find(new RegExp(`^#\\s*${key}\\s*=`));
  if (set >= 0 && opensMore(lines[set] ?? ""))
    throw new OperatorError(
      `${key} of [${table}] stands over several lines of config.toml: change it there by hand.`,
    );
  if (set >= 0) return lines.with(set, line).join("\n");
  if (shown >= 0) return lines.with(shown, line).join("\n");
  return lines.toSpliced(head + 1, 0, line).join("\n");
}

/** A list or a text that continues on the next line. */
function opensMore(line: string): boolean {
  const list = [...line.matchAll(/=\s*\[/g)].at(-1);
  return (
    line.includes('"""') || line.includes("'''") || (list !== undefined && !line.includes("]", list.index))
  );
}

/** The table that a line begins, without its brackets; null: it begins no table. */
function headOf(line: string): string | null {
  return /^\[\[?([^\]]+)\]\]?\s*(?:#.*)?$/.exec(line.trim())?.[1]?.trim() ?? null;
}
