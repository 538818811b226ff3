import type { ModelMessage } from "../../core/context.ts";

/** The beginning of Weir's own lines; no line that people typed begins like this. */
export const OWN_WORD = "[System:";
const SUMMARY_WORD = "[Compaction Summary]:";
/** The beginning of the dynamic part, which fills the rest of its message. */
const NOW = "[System: what is true just now";
/** The head of a person's line. */
const HEAD = /^\[(?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\d|\+?)\] /;
/** A line of a transcript; consecutive ones are one text. */
const NUMBERED = /^\d{1,7}\. \[(?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\d|\+?)\] /;

/**
 * A request split into its original pieces: in a user's message, each person's line, summary, note and task stands
 * alone. No line that people typed begins like these. A picture stays with the line before it.
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

/** The pieces of a user's message. */
export function textPieces(text: string): string[] {
  const pieces: string[][] = [];
  for (const line of text.split("\n")) {
    const open = pieces.at(-1);
    if (open === undefined || begins(line, open[0] ?? "")) pieces.push([line]);
    else open.push(line);
  }
  return pieces.map((lines) => lines.join("\n"));
}

/** @param open the first line of the piece that continues unless this line begins another */
function begins(line: string, open: string): boolean {
  if (open.startsWith(NOW)) return false;
  if (NUMBERED.test(line)) return !NUMBERED.test(open);
  return line.startsWith(OWN_WORD) || line.startsWith(SUMMARY_WORD) || HEAD.test(line);
}
