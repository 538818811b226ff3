import { sliceWhole, storableText } from "../../../text/text.ts";
import { outsideCode, piecesOf } from "./code.ts";
import type { KnownNames } from "../rest/people.ts";
import { drawTable, findTables } from "./table.ts";

/** What Discord takes, UTF-16 units: it counts characters, which are never more. */
export const MAX_CONTENT_LENGTH = 2000;

/** A text as Discord is sent it. */
export interface Content {
  readonly content: string;
  /** Ids of the people that it mentions. */
  readonly users: readonly string[];
}

const NOBODY: KnownNames = new Map();

/**
 * The agent's Markdown as Discord draws it: names of people that are known there become mentions, tables code blocks, and
 * no mass mention stays one. What does not fit so stays as it was. Pure; does not throw.
 */
export function toDiscord(text: string, names: KnownNames = NOBODY): Content {
  const plain = storableText(text);
  const users = new Set<string>();
  const full = convert(plain, names, users);
  if (full.length <= MAX_CONTENT_LENGTH) return { content: full, users: [...users] };
  const safe = outsideCode(plain, disarm);
  const content = safe.length <= MAX_CONTENT_LENGTH ? safe : plain;
  return { content: sliceWhole(content, 0, MAX_CONTENT_LENGTH), users: [] };
}

function convert(text: string, names: KnownNames, users: Set<string>): string {
  const words = (piece: string): string => mention(disarm(piece), names, users);
  return blocksOf(text)
    .map((block) =>
      block.isCode
        ? block.text
        : findTables(block.text.split("\n"))
            .map(({ lines, isTable }) =>
              isTable ? drawTable(lines) : outsideCode(lines.map(line).join("\n"), words),
            )
            .join("\n"),
    )
    .join("");
}

/** Code blocks and what is between them; code within a line stays in its line. */
function blocksOf(text: string): { text: string; isCode: boolean }[] {
  const blocks: { text: string; isCode: boolean }[] = [];
  for (const { text: piece, isBlock } of piecesOf(text)) {
    const last = blocks.at(-1);
    if (last !== undefined && !last.isCode && !isBlock) last.text += piece;
    else blocks.push({ text: piece, isCode: isBlock });
  }
  return blocks;
}

/** Discord knows three levels of headings. Pictures come as links. */
function line(text: string): string {
  const title = deepTitle(text);
  return (title === null ? text : `**${title.replaceAll("**", "")}**`).replaceAll(
    /!\[([^\][\n]*)\]\(([^()\s]+)\)/g,
    (_, label: string, url: string) => (label === "" ? url : `[${label}](${url})`),
  );
}

/** The words of a heading below the third level. No expression finds both ends of them in linear time. */
function deepTitle(heading: string): string | null {
  const rest = /^ {0,3}#{4,6}[ \t]+(?=\S)(.+)$/.exec(heading)?.[1]?.trimEnd();
  if (rest === undefined) return null;
  let end = rest.length;
  while (rest[end - 1] === "#") end -= 1;
  return rest.slice(0, end).trimEnd() || rest;
}

/** A character of no width takes the meaning from `@everyone`. */
function disarm(text: string): string {
  return text.replaceAll(/@(?=everyone|here)/gi, "@\u200B");
}

/** An address, which is left as it is, or where a mention may begin. */
const ADDRESS_OR_MENTION = /https?:\/\/[^\s<>|]+|(?<![\p{L}\p{N}_<@.])@(?=\S)/giu;

/** `@Ann Lee` → `<@123>`: the longest known name that stands there. */
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

/** `@types/node` is a package, whoever is called so. */
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
