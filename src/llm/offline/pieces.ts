import type { ModelMessage } from "../../core/context.ts";

/** Begins a line of Weir's own; no line that people typed begins so. */
export const OWN_WORD = "[System:";
/** Begins a summary. */
const SUMMARY_WORD = "[Compaction Summary]:";
/** Begins what is true just now: it is all of the rest of its message. */
const NOW = "[System: what is true just now";
/** The head of what a person said. */
const HEAD = /^\[(?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\d|\+?)\] /;
/** A line of a transcript; all that follow one another are one text. */
const NUMBERED = /^\d{1,7}\. \[(?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\d|\+?)\] /;

/**
 * A request taken apart again into what it was put together of: in a user's message each line that a person said, each summary,
 * note and task stands alone. What people typed has no line that begins so. A picture goes with the line before it.
 */
export function piecesOf(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.flatMap((message) => (message.role === "user" ? linesOf(message) : message));
}

function linesOf(message: ModelMessage & { role: "user" }): ModelMessage[] {
  const { text, images = [] } = message;
  let from = 0;
  return textPieces(text).map((piece): ModelMessage => {
    const end = from + piece.length;
    const own = images.filter(({ at = text.length }) => at >= from && at <= end);
    from = end + 1;
    const { images: _images, ...rest } = message;
    return { ...rest, text: piece, ...(own.length > 0 && { images: own }) };
  });
}

/** The text of a user's message, taken apart. */
export function textPieces(text: string): string[] {
  const pieces: string[][] = [];
  for (const line of text.split("\n")) {
    const open = pieces.at(-1);
    if (open === undefined || begins(line, open[0] ?? "")) pieces.push([line]);
    else open.push(line);
  }
  return pieces.map((lines) => lines.join("\n"));
}

/** @param open the first line of the piece that goes on unless this line begins another */
function begins(line: string, open: string): boolean {
  if (open.startsWith(NOW)) return false;
  if (NUMBERED.test(line)) return !NUMBERED.test(open);
  return line.startsWith(OWN_WORD) || line.startsWith(SUMMARY_WORD) || HEAD.test(line);
}
