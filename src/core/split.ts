import { sliceWhole } from "./text.ts";

const FENCE = /^\s*(?:```|~~~)/;

/**
 * Splits a text into parts of at most `limit` UTF-16 units: at line breaks where that is possible, else at spaces,
 * never inside a surrogate pair. A code fence that is open at a split is closed there and opened again behind it.
 * The same text and limit always give the same parts, so that a resend can go on from the part that failed.
 */
export function splitText(text: string, limit: number): string[] {
  if (text.length <= limit) return [text];
  const parts: string[] = [];
  let part = "";
  let fence: string | null = null;
  const room = (): number => limit - (fence === null ? 0 : CLOSING.length);
  const flush = (): void => {
    if (part.trim() === "") return;
    parts.push(fence === null ? part : part + CLOSING);
    part = fence === null ? "" : fence;
  };
  for (const line of text.split("\n")) {
    for (const piece of piecesOf(line, Math.max(1, Math.floor(limit / 2)))) {
      if (part !== "" && part.length + 1 + piece.text.length > room()) flush();
      part += part === "" || !piece.startsLine ? piece.text : `\n${piece.text}`;
    }
    if (FENCE.test(line)) fence = fence === null ? sliceWhole(line.trim(), 0, 40) : null;
  }
  flush();
  return parts;
}

const CLOSING = "\n```";

/** A line in pieces of at most `limit` units, cut behind spaces where there are any. */
function piecesOf(line: string, limit: number): { text: string; startsLine: boolean }[] {
  const pieces: { text: string; startsLine: boolean }[] = [];
  let rest = line;
  while (rest.length > limit) {
    const space = rest.lastIndexOf(" ", limit - 1);
    const head = sliceWhole(rest, 0, space > limit / 2 ? space + 1 : limit);
    const text = head === "" ? rest.slice(0, 2) : head;
    pieces.push({ text, startsLine: pieces.length === 0 });
    rest = rest.slice(text.length);
  }
  pieces.push({ text: rest, startsLine: pieces.length === 0 });
  return pieces;
}
