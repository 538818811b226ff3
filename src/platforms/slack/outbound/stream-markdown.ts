import type { KnownNames } from "../../shared/known-people.ts";
import { mention } from "./mrkdwn-inline.ts";
import { codeBlockAt, tableAt } from "./mrkdwn.ts";

/**
 * Converts Markdown for Slack's streams, which take standard Markdown: mentions of `names` become Slack's, no other text
 * can mention anybody, and tables become aligned columns. Pure; does not throw.
 */
export function toStreamMarkdown(markdown: string, names: KnownNames): string {
  const lines = markdown.toWellFormed().split("\n");
  const shown: string[] = [];
  for (let index = 0; index < lines.length;) {
    const block = blockAt(lines, index);
    if (block === null) shown.push(withMentions(lines[index] ?? "", names));
    else shown.push(block.text);
    index += block?.lines ?? 1;
  }
  return shown.join("\n");
}

/**
 * The beginning of an unfinished text that reads the same whatever follows: without a table that may go on, and without
 * an end that may become a mention. A stream only grows. Pure.
 */
export function settledPart(markdown: string, names: KnownNames): string {
  const lines = markdown.replace(/[\uD800-\uDBFF]$/, "").split("\n");
  for (let index = 0; index < lines.length;) {
    const block = blockAt(lines, index);
    const lineCount = block?.lines ?? 1;
    const isOpen = index + lineCount >= lines.length - 1;
    if (block?.isTable === true && isOpen) return lines.slice(0, index).join("\n");
    if (block === null && isOpen && mayBeginTable(lines, index)) return lines.slice(0, index).join("\n");
    index += lineCount;
  }
  const last = lines.at(-1) ?? "";
  return [...lines.slice(0, -1), last.slice(0, settledEnd(last, names))].join("\n");
}

interface Block {
  readonly text: string;
  readonly lines: number;
  readonly isTable: boolean;
}

function blockAt(lines: readonly string[], from: number): Block | null {
  const code = codeBlockAt(lines, from);
  if (code !== null) {
    const text = lines.slice(from, from + code.lines).join("\n");
    return { text: withoutEntities(text), lines: code.lines, isTable: false };
  }
  const table = tableAt(lines, from);
  if (table === null) return null;
  // A fence inside a block would end it.
  const columns = table.text.replaceAll("```", "``\u200B`");
  return { text: `\`\`\`\n${withoutEntities(columns)}\n\`\`\``, lines: table.lines, isTable: true };
}

/** One of the last two lines may be the head of a table whose rule is not there yet. */
function mayBeginTable(lines: readonly string[], index: number): boolean {
  const next = lines[index + 1];
  return (lines[index] ?? "").includes("|") && (next === undefined || /^[\s|:-]*$/.test(next));
}

/** What Slack reads as a mention of people, a channel, or everybody. */
const ENTITY = /<(?=!(?:channel|here|everyone|group|subteam\^|date\^)|@[A-Z0-9]|#[A-Z0-9])/g;

function withoutEntities(text: string): string {
  return text.replaceAll(ENTITY, "<\u200B");
}

const CODE_SPAN = /(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)/g;

function withMentions(line: string, names: KnownNames): string {
  let shown = "";
  let from = 0;
  for (const code of line.matchAll(CODE_SPAN)) {
    shown += mentioned(line, from, code.index, names) + withoutEntities(code[0]);
    from = code.index + code[0].length;
  }
  return shown + mentioned(line, from, line.length, names);
}

function mentioned(line: string, from: number, to: number, names: KnownNames): string {
  let shown = "";
  let plainFrom = from;
  for (let index = line.indexOf("@", from); index >= 0 && index < to; index = line.indexOf("@", index + 1)) {
    const found = index < plainFrom ? null : mention(line, index, names);
    if (found === null) continue;
    shown += withoutEntities(line.slice(plainFrom, index)) + found.shown;
    plainFrom = index + found.length;
  }
  return shown + withoutEntities(line.slice(plainFrom, to));
}

/** Where the part of the last line begins that may change its meaning. */
function settledEnd(line: string, names: KnownNames): number {
  const entity = /<[!@#]?[\w^|-]{0,40}$/.exec(line)?.index ?? line.length;
  const plain = line.replaceAll(CODE_SPAN, (code) => " ".repeat(code.length));
  const tick = plain.indexOf("`");
  // An open code span may end after a name in it, which is then no mention.
  const span = tick >= 0 && plain.includes("@", tick) ? tick : line.length;
  return Math.min(entity, span, openMention(plain, names));
}

function openMention(line: string, names: KnownNames): number {
  for (let index = line.indexOf("@"); index >= 0; index = line.indexOf("@", index + 1)) {
    const rest = line.slice(index + 1).toLowerCase();
    if ([...names.keys()].some((name) => name.startsWith(rest))) return index;
  }
  return line.length;
}
