import type { Card } from "../../../core/card.ts";
import { displayableLine } from "../../../text/displayable.ts";
import { gaugeRows } from "../../../text/gauge.ts";
import { fitEscaped, fitLines, insideCodeBlock } from "../../../text/text.ts";
import { escapeText } from "./mrkdwn-inline.ts";

/** https://docs.slack.dev/reference/block-kit/blocks: characters of escaped texts. */
const MAX_HEADER = 150;
const MAX_SECTION = 3000;
const MAX_FIELDS = 10;
const MAX_FIELD = 2000;
/** Slack's limit of all blocks is 50. */
const MAX_FACTS = 50;
const MAX_LISTS = 20;
/**
 * Longest JSON of all blocks. The limit is not documented: people report `msg_blocks_too_long` at 11,300 characters of
 * text (https://github.com/slackapi/bolt-js/issues/2867).
 */
const MAX_ALL = 10_000;
/** Shortest list that is worth a place. */
const MIN_LIST = 500;
const BAR_WIDTH = 30;

const SIGNS: Readonly<Record<Card["tone"], string>> = { calm: "🟢", warning: "🟡", critical: "🔴" };

type Text =
  | { readonly type: "plain_text"; readonly text: string; readonly emoji: false }
  | { readonly type: "mrkdwn"; readonly text: string; readonly verbatim: true };

export type Block =
  | { readonly type: "header"; readonly text: Text }
  | { readonly type: "section"; readonly text: Text }
  | { readonly type: "section"; readonly fields: readonly Text[] }
  | { readonly type: "context"; readonly elements: readonly Text[] };

/** A card as blocks. People's texts are plain text or in code blocks, since mrkdwn has no escape for its marks. Pure. */
export function toBlocks({ title, summary, tone, bar, fields, lists }: Card): Block[] {
  const { bar: row, scale } = gaugeRows(bar, BAR_WIDTH);
  const legend = bar.marks.map(({ label }) => `▲ ${displayableLine(label)}`).join(" · ");
  const blocks: Block[] = [
    { type: "header", text: plain(title, MAX_HEADER) },
    { type: "section", text: plain(`${SIGNS[tone]} ${summary}`, MAX_FIELD) },
    { type: "section", text: code("", [row, scale], MAX_SECTION) },
    { type: "context", elements: [plain(legend, MAX_FIELD)] },
  ];
  let room = MAX_ALL - sizeOf(blocks);
  /** Each fact is a pair of columns. */
  const pairs: Text[][] = [];
  for (const { label, value } of fields.slice(0, MAX_FACTS)) {
    const pair = [bold(label), plain(value, MAX_FIELD)];
    const size = sizeOf(pair);
    if (size > room) continue;
    room -= size;
    pairs.push(pair);
  }
  for (let from = 0; from < pairs.length; from += MAX_FIELDS / 2)
    blocks.push({ type: "section", fields: pairs.slice(from, from + MAX_FIELDS / 2).flat() });
  for (const { label, lines } of lists.slice(0, MAX_LISTS)) {
    const limit = Math.min(MAX_SECTION, room);
    if (limit < MIN_LIST) break;
    const text = code(label, lines, limit);
    room -= sizeOf([text]);
    blocks.push({ type: "section", text });
  }
  return blocks;
}

function plain(text: string, limit: number): Text {
  return { type: "plain_text", text: words(text, limit), emoji: false };
}

function bold(label: string): Text {
  return { type: "mrkdwn", text: `*${unmarked(label, 100)}*`, verbatim: true };
}

/** Lines in a code block, below their name. */
function code(label: string, lines: readonly string[], limit: number): Text {
  const head = label === "" ? "" : `*${unmarked(label, 100)}*\n`;
  const safe = lines.map((line) => insideCodeBlock(displayableLine(line)));
  const text = `${head}\`\`\`\n${fitLines(safe, limit - head.length - 8, escapeText)}\n\`\`\``;
  return { type: "mrkdwn", text, verbatim: true };
}

/** On one line; Slack refuses an empty text. */
function words(text: string, limit: number): string {
  const line = displayableLine(text).trim();
  return line === "" ? "–" : fitEscaped(line, limit, escapeText);
}

function unmarked(label: string, limit: number): string {
  return words(label.replaceAll(/[*_~`]/g, " "), limit);
}

function sizeOf(parts: readonly (Block | Text)[]): number {
  return JSON.stringify(parts).length;
}
