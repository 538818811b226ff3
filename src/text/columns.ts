const TAB_STOP = 8;
// oxlint-disable-next-line no-misleading-character-class -- classes of characters, not a character of several parts
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\u200b-\u200f\u2060-\u2064\ufeff]$/u;
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

/** Cells that a character takes in a fixed-width font: 0, 1, or 2 (East Asian wide and emoji). */
function cells(character: string): 0 | 1 | 2 {
  if (character < "\u0300") return 1;
  if (ZERO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Cells of a one-line text in a fixed-width font. */
export function cellWidth(text: string): number {
  let width = 0;
  for (const character of text) width += cells(character);
  return width;
}

/**
 * The end of a text that starts at `column` of a self-wrapping terminal `width` cells wide: the number of rows below,
 * and the column (0-based; `width` when the row is exactly full). The text has no escape sequences.
 */
export function endPosition(column: number, text: string, width: number): { rows: number; column: number } {
  let rows = 0;
  let end = column;
  for (const character of text) {
    if (character === "\n") {
      rows += 1;
      end = 0;
    } else if (character === "\t") {
      end = Math.min(width - 1, (Math.floor(end / TAB_STOP) + 1) * TAB_STOP);
    } else {
      const size = cells(character);
      if (end + size > width) rows += 1;
      end = end + size > width ? size : end + size;
    }
  }
  return { rows, column: end };
}
