import { sliceWhole } from "./text.ts";

/** An open code block: its opening in the next part, and its end. */
interface Fence {
  readonly open: string;
  readonly marker: string;
}

const OPENING = /^\s*(`{3,}(?=[^`]*$)|~{3,})/;
const CLOSING = /^\s*(`{3,}|~{3,})\s*$/;

/**
 * Splits a text into parts of at most `limit` UTF-16 units: at line breaks if possible, else at spaces outside of
 * links, never inside a surrogate pair. An open code fence is closed at a split and opened again after it, if the limit
 * leaves room for that. The same text and limit always give the same parts, so that a resend can continue from the part
 * that failed.
 * @param limit at least 4
 */
export function splitText(text: string, limit: number): string[] {
  if (text.length <= limit) return [text];
  const splitter = new Splitter(limit);
  for (const line of text.split("\n")) splitter.add(line);
  return splitter.finish();
}

class Splitter {
  readonly #limit: number;
  readonly #parts: string[] = [];
  #part = "";
  #fence: Fence | null = null;
  /** If the part's last line opens a fence that is still empty: the length of the part before it. */
  #bareFrom: number | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(line: string): void {
    const next = fenceAfter(line, this.#fence, this.#limit);
    const isClosing = this.#fence !== null && next === null;
    const reserve = isClosing ? 0 : closingOf(this.#fence ?? next).length;
    const pieces = piecesOf(line, Math.max(2, Math.floor(this.#limit / 2)));
    const isOpening = this.#fence === null && next !== null && pieces.length === 1;
    for (const [index, piece] of pieces.entries()) {
      const length = this.#part.length + this.#glue(index).length + piece.length;
      if (length + reserve > this.#limit) this.#flush();
      const joined = this.#glue(index) + piece;
      if (isOpening) this.#bareFrom = this.#part.length;
      this.#part += joined;
      if (!isOpening && !isClosing && piece.trim() !== "") this.#bareFrom = null;
    }
    if (isClosing) this.#bareFrom = null;
    this.#fence = next;
  }

  /** Text between the part and a line's piece. */
  #glue(index: number): string {
    const goesOn = index > 0 && this.#bareFrom === null;
    return this.#part === "" || goesOn ? "" : "\n";
  }

  finish(): string[] {
    this.#bareFrom = null;
    this.#flush();
    return this.#parts;
  }

  #flush(): void {
    const isBare = this.#bareFrom !== null;
    // An empty code block moves to the next part whole.
    const part = this.#bareFrom === null ? this.#part : this.#part.slice(0, this.#bareFrom);
    if (part.trim() !== "") this.#parts.push(isBare ? part : part + closingOf(this.#fence));
    this.#part = this.#fence?.open ?? "";
    this.#bareFrom = this.#fence === null ? null : 0;
  }
}

function closingOf(fence: Fence | null): string {
  return fence === null ? "" : `\n${fence.marker}`;
}

function fenceAfter(line: string, fence: Fence | null, limit: number): Fence | null {
  if (fence !== null) {
    const closing = CLOSING.exec(line)?.[1];
    return closing?.startsWith(fence.marker) === true ? null : fence;
  }
  const marker = OPENING.exec(line)?.[1];
  if (marker === undefined || marker.length > limit / 8) return null;
  const open = line.trim();
  return { open: open.length <= limit / 4 ? open : marker, marker };
}

/** `[words](address)` or a bare address, which a cut would break. */
const LINK = /\[[^\][\n]{1,300}\]\([^()\s]{1,1000}(?:\([^()\s]*\)[^()\s]*)?\)|https?:\/\/\S{1,1000}/g;
/** Longest distance from a cut to the end of a link around it. */
const LONGEST_LINK = 1500;

/** Where to cut a line that is longer than `limit`: after a space in its second half, outside links if possible. */
function cutOf(text: string, limit: number): number {
  const links = Array.from(text.slice(0, limit + LONGEST_LINK).matchAll(LINK), ({ index, 0: link }) => ({
    from: index,
    to: index + link.length,
  }));
  const linkAround = (at: number): number | undefined =>
    links.find(({ from, to }) => from < at && at < to)?.from;
  for (let space = text.lastIndexOf(" ", limit - 1); space > limit / 2;) {
    const from = linkAround(space);
    if (from === undefined) return space + 1;
    space = from === 0 ? -1 : text.lastIndexOf(" ", from - 1);
  }
  return linkAround(limit) || limit;
}

/** A line in pieces of at most `limit` units, cut after spaces if there are any. */
function piecesOf(line: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > limit) {
    const piece = sliceWhole(rest, 0, cutOf(rest, limit));
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return [...pieces, rest];
}
