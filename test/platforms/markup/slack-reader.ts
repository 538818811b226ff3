import type { Shown, Style } from "./styled-text.ts";

/**
 * Reads Slack's mrkdwn as Slack shows it, by https://docs.slack.dev/messaging/formatting-message-text and by what its clients do: a mark
 * opens behind a space, a line's beginning or ASCII punctuation, and before a visible character; it closes the other way round. Nothing
 * escapes a mark. A stroke, `~`, also ends before a letter.
 */
export function readSlack(text: string): Shown[] {
  const shown: Shown[] = [];
  const code: ReadonlySet<Style> = new Set(["code"]);
  // Every second piece is a code block.
  for (const [index, piece] of text.split("```").entries()) {
    if (index % 2 === 1) {
      for (const character of unescaped(piece.replace(/^\n|\n$/g, "")))
        shown.push({ character, styles: code });
      continue;
    }
    for (const [number, line] of piece.split("\n").entries()) {
      if (number > 0) shown.push({ character: "\n", styles: new Set() });
      shown.push(...readLine(line.replace(/^(?:• |&gt; |> )/, ""), new Set()));
    }
  }
  return shown;
}

const MARKS: Readonly<Record<string, Style>> = { "*": "strong", _: "em", "~": "strike", "`": "code" };

function readLine(line: string, styles: ReadonlySet<Style>): Shown[] {
  const shown: Shown[] = [];
  for (let at = 0; at < line.length;) {
    const link = /^<(?:[^<>|]*\|)?([^<>|]*)>/.exec(line.slice(at));
    if (link !== null) {
      for (const character of unescaped(link[1] ?? "")) shown.push({ character, styles });
      at += link[0].length;
      continue;
    }
    const style = MARKS[line[at] ?? ""];
    const end = style === undefined || styles.has(style) ? -1 : endOf(line, at);
    if (style !== undefined && end > 0) {
      const inner = line.slice(at + 1, end);
      const within = new Set([...styles, style]);
      if (style === "code")
        for (const character of unescaped(inner)) shown.push({ character, styles: within });
      else shown.push(...readLine(inner, within));
      at = end + 1;
      continue;
    }
    const entity = /^&(?:amp|lt|gt);/.exec(line.slice(at))?.[0];
    const character = entity === undefined ? behind(line, at - 1) : unescaped(entity);
    const length = entity?.length ?? character.length;
    shown.push({ character, styles });
    at += length;
  }
  return shown;
}

/** Where the mark at `from` ends; -1: it is none. */
function endOf(line: string, from: number): number {
  const mark = line[from];
  if (joins(before(line, from)) || !isVisible(line[from + 1]) || line[from + 1] === mark) return -1;
  for (let at = from + 2; at < line.length; at++) {
    if (line[at] !== mark || !isVisible(line[at - 1])) continue;
    if (mark === "~" || !joins(behind(line, at))) return at;
  }
  return -1;
}

function isVisible(character: string | undefined): boolean {
  return character !== undefined && !/[\s\u200B]/.test(character);
}

function before(line: string, at: number): string {
  return Array.from(line.slice(0, at)).at(-1) ?? "";
}

function behind(line: string, at: number): string {
  const point = line.codePointAt(at + 1);
  return point === undefined ? "" : String.fromCodePoint(point);
}

/** A letter, a digit, or punctuation that is not ASCII: beside it Slack reads no mark. */
function joins(character: string): boolean {
  return /^[\p{L}\p{N}\p{M}]$|^[^\p{ASCII}\s\u200B]$/u.test(character);
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
