/** A piece of Discord's Markdown: code, with its backticks, or not. */
interface Piece {
  readonly text: string;
  readonly isCode: boolean;
  /** A block, not inline code. */
  readonly isBlock: boolean;
}

/** Splits a text at its code; the joined pieces are the text. Pure; linear in the text's length. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  /** Lengths of runs without a later partner. */
  const lonely = new Set<number>();
  let from = 0;
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    if (index < from || lonely.has(run.length)) continue;
    const isBlock = run.length >= 3;
    const end = closingOf(text, index + run.length, run.length);
    if (end === null && !isBlock) {
      lonely.add(run.length);
      continue;
    }
    if (index > from) pieces.push({ text: text.slice(from, index), isCode: false, isBlock: false });
    from = end ?? text.length;
    pieces.push({ text: text.slice(index, from), isCode: true, isBlock });
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isCode: false, isBlock: false });
  return pieces;
}

/** The end of the run of backticks that closes this one; null: none. */
function closingOf(text: string, from: number, length: number): number | null {
  const run = /`+/g;
  run.lastIndex = from;
  for (let found = run.exec(text); found !== null; found = run.exec(text)) {
    const [{ length: there }] = found;
    if (there === length || (length >= 3 && there > length)) return found.index + there;
  }
  return null;
}

/** Changes the text outside code. Pure. */
export function outsideCode(text: string, change: (words: string) => string): string {
  return piecesOf(text)
    .map((piece) => (piece.isCode ? piece.text : change(piece.text)))
    .join("");
}
