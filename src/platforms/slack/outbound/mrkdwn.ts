import type { KnownNames } from "../../shared/known-people.ts";
import { alignColumns, cellsOf } from "../../../text/markdown-table.ts";
import { emphasised, escapeText } from "./mrkdwn-inline.ts";

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^\s{0,3}#{1,6}\s+([^]*)/;
const BULLET = /^(\s*)[-*+]\s+(?:\[([ xX])\]\s+)?(?=\S)/;
const QUOTE = /^\s{0,3}((?:>\s?)+)/;
const COLUMNS = { gap: " | ", ruleGap: "-+-", minWidth: 0 };

/**
 * Converts Markdown to Slack's mrkdwn. Only links and mentions of `names` become Slack entities, so that no
 * text can notify a whole channel. Pure; does not throw.
 */
export function toMrkdwn(markdown: string, names: KnownNames): string {
  // The client throws on half a surrogate pair.
  const lines = markdown.toWellFormed().split("\n");
  const shown: string[] = [];
  for (let index = 0; index < lines.length;) {
    const block = codeBlock(lines, index) ?? table(lines, index);
    if (block === null) shown.push(line(lines[index] ?? "", names));
    else shown.push(block.text);
    index += block?.lines ?? 1;
  }
  return shown.join("\n");
}

/**
 * Converts a text; if too long, drops the escapes that Slack does not need; if still too long, replaces the
 * characters that need escapes by look-alikes. Pure.
 */
export function fitMrkdwn(markdown: string, names: KnownNames, limit: number): string {
  const converted = toMrkdwn(markdown, names);
  if (converted.length <= limit) return converted;
  const lean = converted.replaceAll(NEEDLESS, (found) =>
    found.startsWith("<") ? found : found === "&gt;" ? ">" : "&",
  );
  if (lean.length <= limit) return lean;
  const text = markdown.toWellFormed();
  return text.replaceAll("<", "\u2039").replaceAll(">", "\u203A").replaceAll("&", "\uFF06");
}

/** `>`, and an `&` that begins no entity, are markup only in links and mentions. */
const NEEDLESS = /<[^<>]*>|&gt;|&amp;(?!(?:amp|lt|gt);)/g;

interface Block {
  readonly text: string;
  readonly lines: number;
}

/** Drops the language name, which Slack would show as the first line. */
function codeBlock(lines: readonly string[], from: number): Block | null {
  const block = codeBlockAt(lines, from);
  return block === null ? null : { text: fenced(block.content.join("\n")), lines: block.lines };
}

/** The code block that begins at a line; null: none does. Pure. */
export function codeBlockAt(
  lines: readonly string[],
  from: number,
): { readonly content: readonly string[]; readonly lines: number; readonly isClosed: boolean } | null {
  const marker = FENCE.exec(lines[from] ?? "")?.[1];
  if (marker === undefined || isInlineFence(lines[from] ?? "", marker)) return null;
  const rest = lines.slice(from + 1);
  const length = rest.findIndex((one) => one.trim().startsWith(marker) && /^[`~]+$/.test(one.trim()));
  const content = rest.slice(0, length < 0 ? rest.length : length);
  return { content, lines: content.length + (length < 0 ? 1 : 2), isClosed: length >= 0 };
}

/** "```code``` on one line" opens no block. */
function isInlineFence(text: string, marker: string): boolean {
  return marker.startsWith("`") && text.trim().slice(marker.length).includes("`");
}

function fenced(content: string): string {
  // A fence inside a block would end it.
  return `\`\`\`\n${escapeText(content).replaceAll("```", "``\u200B`")}\n\`\`\``;
}

/** Slack has no tables: aligned columns in a code block. */
function table(lines: readonly string[], from: number): Block | null {
  const found = tableAt(lines, from);
  return found === null ? null : { ...found, text: fenced(found.text) };
}

/** The table that begins at a line, as aligned columns; null: none does. Pure. */
export function tableAt(lines: readonly string[], from: number): Block | null {
  const [head = "", rule = ""] = lines.slice(from, from + 2);
  if (!head.includes("|") || !isTableRule(rule)) return null;
  const rest = lines.slice(from + 2);
  const end = rest.findIndex((one) => !one.includes("|"));
  const rows = [head, ...rest.slice(0, end < 0 ? rest.length : end)];
  return { text: asColumns(rows), lines: rows.length + 1 };
}

/** `|---|:--:|` under the head of a table. Pure. */
function isTableRule(text: string): boolean {
  return text.includes("-") && text.includes("|") && /^[\s|:-]+$/.test(text);
}

/** Rows of a Markdown table as columns of the same width. Pure. */
function asColumns(rows: readonly string[]): string {
  return alignColumns(
    rows.map((row) => cellsOf(row).map(plain)),
    COLUMNS,
  ).join("\n");
}

/** A code block shows no markup. */
function plain(cell: string): string {
  return cell
    .replaceAll(/\*\*([^*]+)\*\*/g, "$1")
    .replaceAll(/`([^`]+)`/g, "$1")
    .replaceAll(/\[([^\][]{1,300})\]\([^()\s]{1,1000}(?:\([^()\s]*\)[^()\s]*)?\)/g, "$1");
}

/** `Words ##` without the trailing signs. No regular expression: many spaces would take minutes. */
function unclosed(heading: string): string {
  const words = heading.trimEnd();
  let end = words.length;
  while (words[end - 1] === "#") end -= 1;
  return words.slice(0, end).trimEnd();
}

function line(text: string, names: KnownNames): string {
  const heading = HEADING.exec(text)?.[1];
  if (heading !== undefined) {
    // Inner bold would end the outer.
    const inner = emphasised(unclosed(heading).replaceAll(/\*\*|__/g, ""), names);
    return inner === "" || inner.includes("*") ? inner : `*${inner}*`;
  }
  const quote = QUOTE.exec(text);
  if (quote !== null) {
    const rest = line(text.slice(quote[0].length), names);
    return `> ${rest}`;
  }
  const bullet = BULLET.exec(text);
  if (bullet === null || /^\s*([-*+]\s*){3,}$/.test(text)) return emphasised(text, names);
  const [all, indent = "", box] = bullet;
  const sign = box === undefined ? "•" : box === " " ? "☐" : "☑";
  return `${indent}${sign} ${emphasised(text.slice(all.length), names)}`;
}
