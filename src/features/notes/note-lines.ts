/** Lines of a file of notes. The agent's own lines end with the ids of their rows; all others are a person's. Pure. */

/** `- 14:05 the lift is broken <!-- note 12 -->`; a reader of Markdown does not see the mark. */
const MARK = /(?<! ) *<!-- note (\d{1,15}) -->[ \t]*$/;
const MARKS = new RegExp(MARK.source, "gm");

/** A line that the agent has written. */
export interface OwnLine {
  readonly id: number;
  /** Without the mark. */
  readonly text: string;
}

/** The longest note, in UTF-16 units. */
export const LONGEST_NOTE = 500;

/** A note on one line of plain text, which can neither close a mark nor contain one. */
export function noteText(text: string): string {
  let said = text.replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").replaceAll(TURNING, "");
  // The text on both sides of a replaced part may form another one.
  for (let before = ""; before !== said;) {
    before = said;
    said = said.replaceAll(/<!--|--!?>/g, "--");
  }
  return said.trim();
}

/** Characters that turn the direction of the following text: a person would see another line than the file has. */
const TURNING = /[\u202A-\u202E\u2066-\u2069]/g;

function lineOf({ id, text }: OwnLine): string {
  return `- ${text} <!-- note ${id} -->`;
}

/** The text as a reader sees it. */
export function withoutMarks(text: string): string {
  return text.replaceAll(MARKS, "");
}

export function ownLines(text: string): OwnLine[] {
  return text.split("\n").flatMap((line) => {
    const id = idOf(line);
    return id === null ? [] : [{ id, text: line.replace(MARK, "").replace(/^[-*]\s+/, "") }];
  });
}

function idOf(line: string): number | null {
  const [, id] = MARK.exec(line) ?? [];
  return id === undefined ? null : Number(id);
}

/** The text without these lines of the agent's own; every other line stays as it is. */
export function withoutLines(text: string, ids: ReadonlySet<number>): string {
  const lines = text.split("\n");
  const left = lines.filter((line) => {
    const id = idOf(line);
    return id === null || !ids.has(id);
  });
  return left.length === lines.length ? text : left.join("\n");
}

/** The text with a line after all others, or in place of one of the agent's own. */
export function withLine(text: string, line: OwnLine, instead: number | null): string {
  const lines = text.split("\n");
  const place = instead === null ? -1 : lines.findIndex((one) => idOf(one) === instead);
  if (place >= 0) return lines.with(place, lineOf(line)).join("\n");
  const end = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${text}${end}${lineOf(line)}\n`;
}
