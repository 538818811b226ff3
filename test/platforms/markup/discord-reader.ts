import type { Shown, Style } from "./styled-text.ts";

/**
 * Reads Discord's Markdown as its clients show it, by https://support.discord.com/hc/en-us/articles/210298617: emphasis within words too,
 * `*` only before a visible character, `_` only where no letter follows its end, `||` hides, `__` underlines, a backslash escapes.
 */
export function readDiscord(text: string): Shown[] {
  const shown: Shown[] = [];
  const code: ReadonlySet<Style> = new Set(["code"]);
  for (const [index, piece] of text.split("```").entries()) {
    if (index % 2 === 1) {
      for (const character of piece.replace(/^\n|\n$/g, "")) shown.push({ character, styles: code });
      continue;
    }
    for (const [number, line] of piece.split("\n").entries()) {
      if (number > 0) shown.push({ character: "\n", styles: new Set() });
      shown.push(...readLine(line.replace(/^(?:- |> )/, ""), new Set()));
    }
  }
  return shown;
}

interface Reading {
  readonly length: number;
  readonly inner: string;
  readonly styles: readonly Style[];
  readonly isRaw?: true;
}

function readLine(line: string, styles: ReadonlySet<Style>): Shown[] {
  const shown: Shown[] = [];
  for (let at = 0; at < line.length;) {
    const rest = line.slice(at);
    const reading = readingOf(rest);
    if (reading === null) {
      const character = String.fromCodePoint(rest.codePointAt(0) ?? 0);
      shown.push({ character, styles });
      at += character.length;
      continue;
    }
    const within = new Set([...styles, ...reading.styles]);
    if (reading.isRaw === true)
      for (const character of reading.inner) shown.push({ character, styles: within });
    else shown.push(...readLine(reading.inner, within));
    at += reading.length;
  }
  return shown;
}

/** The longest emphasis that begins here. */
function readingOf(rest: string): Reading | null {
  const escaped = /^\\([^0-9A-Za-z\s])/.exec(rest);
  if (escaped !== null) return { length: 2, inner: escaped[1] ?? "", styles: [], isRaw: true };
  const code = /^(`+)(.*?[^`])\1(?!`)/.exec(rest);
  if (code !== null)
    return { length: code[0].length, inner: (code[2] ?? "").trim(), styles: ["code"], isRaw: true };
  const address = /^https?:\/\/\S+/.exec(rest);
  if (address !== null) return { length: address[0].length, inner: address[0], styles: [], isRaw: true };
  const link = /^\[([^\]]*)\]\(([^)\s]*)\)/.exec(rest);
  if (link !== null) return { length: link[0].length, inner: link[1] ?? "", styles: [] };
  const found = [
    emphasis(/^\*\*((?:\\.|[^\\])+?)\*\*(?!\*)/, rest, ["strong"]),
    // An underline stands for what the agent meant to stress.
    emphasis(/^__((?:\\.|[^\\])+?)__(?!_)/, rest, ["strong"]),
    emphasis(/^_((?:__|\\.|[^\\_])+?)_(?![0-9A-Za-z_])/, rest, ["em"]),
    emphasis(/^\*(?=\S)((?:\*\*|\\.|\s+(?:\\.|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)/, rest, ["em"]),
    emphasis(/^~~(.+?)~~(?!_)/, rest, ["strike"]),
  ].filter((one) => one !== null);
  const hidden = /^\|\|(.+?)\|\|/.exec(rest);
  // Nothing in these texts is to be hidden: what is read so differs from all that is meant.
  if (hidden !== null) return { length: hidden[0].length, inner: `${hidden[1] ?? ""}(hidden)`, styles: [] };
  return found.toSorted((a, b) => b.length - a.length)[0] ?? null;
}

function emphasis(form: RegExp, rest: string, styles: readonly Style[]): Reading | null {
  const match = form.exec(rest);
  return match === null ? null : { length: match[0].length, inner: match[1] ?? "", styles };
}
