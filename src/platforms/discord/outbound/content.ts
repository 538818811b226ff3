import { sliceWhole, storableText } from "../../../text/text.ts";
import { withEmoji } from "../../shared/emoji.ts";
import { outsideCode, piecesOf } from "./code.ts";
import type { KnownNames } from "../../shared/known-people.ts";
import { alignColumns, cellsOf, isTableRule } from "../../../text/markdown-table.ts";

/** Discord's limit, counted in UTF-16 units, which are never fewer than its characters. */
export const MAX_CONTENT_LENGTH = 2000;

export interface Content {
  readonly content: string;
  /** Ids of the mentioned people. */
  readonly users: readonly string[];
}

const NOBODY: KnownNames = new Map();
const NO_EMOJI: ReadonlyMap<string, string> = new Map();

/**
 * Converts the agent's Markdown for Discord: known people's names become mentions, names of emoji become emoji, tables
 * become code blocks, and mass mentions are disarmed. A text that would not fit stays unconverted. Pure; does not throw.
 * @param emoji the server's own, by name, in Discord's form
 */
export function toDiscord(text: string, names: KnownNames = NOBODY, emoji = NO_EMOJI): Content {
  const plain = storableText(text);
  const users = new Set<string>();
  const words = (piece: string): string => withEmoji(mention(disarm(piece), names, users), emoji);
  const full = convert(plain, words);
  if (full.length <= MAX_CONTENT_LENGTH) return { content: full, users: [...users] };
  const safe = outsideCode(plain, disarm);
  const content = safe.length <= MAX_CONTENT_LENGTH ? safe : plain;
  return { content: sliceWhole(content, 0, MAX_CONTENT_LENGTH), users: [] };
}

/** A text without markup, as it is: no name becomes a mention. Pure; does not throw. */
export function toPlainContent(text: string): Content {
  return { content: sliceWhole(disarm(storableText(text)), 0, MAX_CONTENT_LENGTH), users: [] };
}

/** @param words converts what is neither code nor a table */
function convert(text: string, words: (piece: string) => string): string {
  const blocks = blocksOf(text)
    .map((block) =>
      block.isCode
        ? block.text
        : findTables(block.text.split("\n"))
            .map(({ lines, isTable }) =>
              isTable
                ? drawTable(lines)
                : outsideCode(lines.map((one) => literally(line(one))).join("\n"), words),
            )
            .join("\n"),
    )
    .filter((block) => block !== "");
  // A table becomes a code block, whose fence must not join the fence of the block before it.
  const isRun = (block: string, index: number): boolean =>
    block.startsWith("`") && (blocks[index - 1] ?? "").endsWith("`");
  return blocks.map((block, index) => (isRun(block, index) ? `\n${block}` : block)).join("");
}

/** Code blocks and the text between them; inline code stays in its line. */
function blocksOf(text: string): { text: string; isCode: boolean }[] {
  const blocks: { text: string; isCode: boolean }[] = [];
  for (const { text: piece, isBlock } of piecesOf(text)) {
    const last = blocks.at(-1);
    if (last !== undefined && !last.isCode && !isBlock) last.text += piece;
    else blocks.push({ text: piece, isCode: isBlock });
  }
  return blocks;
}

/** Discord has three heading levels. Pictures become links. */
function line(text: string): string {
  const title = deepTitle(text);
  return (title === null ? text : `**${title.replaceAll("**", "")}**`).replaceAll(
    /!\[([^\][\n]*)\]\(([^()\s]+)\)/g,
    (_, label: string, url: string) => (label === "" ? url : `[${label}](${url})`),
  );
}

/** The text of a heading below the third level. No regular expression finds both ends in linear time. */
function deepTitle(heading: string): string | null {
  const rest = /^ {0,3}#{4,6}[ \t]+(?=\S)(.+)$/.exec(heading)?.[1]?.trimEnd();
  if (rest === undefined) return null;
  let end = rest.length;
  while (rest[end - 1] === "#") end -= 1;
  return rest.slice(0, end).trimEnd() || rest;
}

/** A zero-width character disarms `@everyone`. */
function disarm(text: string): string {
  return text.replaceAll(/@(?=everyone|here)/gi, "@\u200B");
}

/** What stays as it is: escapes, code, addresses, names of emoji and people; emphasis, whose inner text may have such marks; and the marks. */
const MARKS = new RegExp(
  [
    String.raw`\\.|\`+[^\`\n]*\`+|https?:\/\/\S+|:[\w+-]+:|@[\w.-]+`,
    String.raw`(\*{2,3})(?=\S)((?:\\.|[^*\\\n]|\*(?!\*))+?)(?<=\S)\1`,
    String.raw`(?<![A-Za-z0-9*])(\*)(?=[^\s*])((?:\\.|[^*\\\n])+?)(?<=\S)\*(?![*A-Za-z0-9])`,
    // Alone, within a word, between spaces.
    String.raw`(?<!\*)\*(?![\s*])|(?<=[A-Za-z0-9])_+(?=[A-Za-z0-9])|(?<!\S)_(?!\S)|(?<=\s)\|\|(?=\s)`,
  ].join("|"),
  "g",
);

/** Escapes what Discord reads as a mark, and nobody meant as one: `5*x and 3*y` is a product, `a || b` hides nothing. */
function literally(text: string): string {
  // In `snake_case _it_` Discord reads `_case _`.
  const hasUnderscores = /(?<![A-Za-z0-9_])_|_(?![A-Za-z0-9_])/.test(text);
  return text.replaceAll(MARKS, (found: string, strong?: string, inner = "", em?: string, innerEm = "") => {
    if (strong !== undefined) return strong + literally(inner) + strong;
    if (em !== undefined) return em + literally(innerEm) + em;
    if (found === "_" && !hasUnderscores) return found;
    return /^(?:\*|_+|\|\|)$/.test(found) ? found.replaceAll(/./g, String.raw`\$&`) : found;
  });
}

/** A URL, which stays unchanged, or a mention's possible start. */
const ADDRESS_OR_MENTION = /https?:\/\/[^\s<>|]+|(?<![\p{L}\p{N}_<@.])@(?=\S)/giu;

/** `@Ann Lee` → `<@123>`: the longest known name there. */
function mention(text: string, names: KnownNames, users: Set<string>): string {
  if (names.size === 0) return text;
  const longest = Math.max(...Array.from(names.keys(), (name) => name.length));
  let converted = "";
  let from = 0;
  for (const { 0: beginning, index } of text.matchAll(ADDRESS_OR_MENTION)) {
    if (index < from || beginning !== "@") continue;
    const found = nameAt(text, index + 1, longest, names);
    if (found === null) continue;
    users.add(found.id);
    converted += `${text.slice(from, index)}<@${found.id}>`;
    from = index + 1 + found.length;
  }
  return converted + text.slice(from);
}

/** Finds the longest name. `@types/node` is a package. */
function nameAt(
  text: string,
  at: number,
  longest: number,
  names: KnownNames,
): { readonly id: string; readonly length: number } | null {
  const ahead = text.slice(at, at + longest);
  for (let length = ahead.length; length > 0; length--) {
    const id = names.get(ahead.slice(0, length).toLowerCase());
    const next = text.slice(at + length, at + length + 2);
    if (id === undefined || /^[\p{L}\p{N}_/]/u.test(next)) continue;
    return id === null ? null : { id, length };
  }
  return null;
}

/** A run of lines: a table, or other text. */
interface Lines {
  readonly lines: readonly string[];
  readonly isTable: boolean;
}

/** Finds the tables among the lines of a text without code blocks. Pure. */
function findTables(lines: readonly string[]): Lines[] {
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
function drawTable([head = "", , ...body]: readonly string[]): string {
  const rows = [head, ...body].map((row) =>
    // A code block would show these marks.
    cellsOf(row).map((cell) => cell.replaceAll(/\*\*|__|`+/g, "")),
  );
  return ["```", ...alignColumns(rows, COLUMNS), "```"].join("\n");
}
