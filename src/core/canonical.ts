import type { ModelImage, ModelMessage } from "./context.ts";

/*
 * The one form of requests, since chat templates of many models refuse every other: the system text first and once,
 * then user and assistant strictly in turns, from a user's message to a user's message or results. Turns, features and
 * summarisers all send it, and each wire converts it for its servers.
 */

/** A position in a canonical request: the message, and the number of UTF-16 units of its text before the position. */
export interface Place {
  readonly message: number;
  readonly from: number;
}

export interface Canonical {
  readonly messages: readonly ModelMessage[];
  /** By piece; null: the piece is empty and left out. */
  readonly places: readonly (Place | null)[];
}

/** The end of the stable part of a request: all messages before this index, and this many UTF-16 units of its text. */
export interface TextEnd {
  readonly message: number;
  readonly length: number;
}

const SEPARATOR = "\n";

/**
 * Joins neighbours of one role into one message, one piece a line, with the system text first. Pure.
 * @param pieces in order; {@link missingBetween} gives the line that must stand between two of them
 */
export function canonical(pieces: readonly ModelMessage[]): Canonical {
  const all = [...pieces.entries()].filter(([, piece]) => !isWordless(piece));
  const places: (Place | null)[] = pieces.map(() => null);
  const runs: ModelMessage[][] = [];
  let length = 0;
  for (const isSystem of [true, false]) {
    for (const [index, piece] of all) {
      if ((piece.role === "system") !== isSystem) continue;
      const run = runs.at(-1);
      const before = run?.at(-1);
      const isJoined = before !== undefined && joins(before, piece);
      if (isJoined) run?.push(piece);
      else runs.push([piece]);
      const from = isJoined ? length + SEPARATOR.length : 0;
      places[index] = { message: runs.length - 1, from };
      length = from + piece.text.length;
    }
  }
  return { messages: runs.flatMap((run) => joined(run) ?? []), places };
}

/** The end of a piece in the canonical form. */
export function endOf({ message, from }: Place, { text }: ModelMessage): TextEnd {
  return { message, length: from + text.length };
}

/**
 * The kind of line that is missing between two pieces, so that the roles take turns: a user's line before an assistant's first words, or an
 * assistant's line after results that no answer follows. Pictures of results belong to the results, and a turn goes on after a
 * message that it takes in.
 * @param before null: nothing, or the system text
 */
export function missingBetween(
  before: ModelMessage | null,
  next: ModelMessage,
): "opening" | "closing" | null {
  if (next.role === "assistant") return before === null ? "opening" : null;
  if (before?.role !== "tool" || next.role !== "user") return null;
  return next.isOfImages === true || next.isSteering === true ? null : "closing";
}

/** Whether a message is empty, which some servers refuse. A result always has at least its existence. */
export function isWordless(message: ModelMessage): boolean {
  if (message.role === "tool" || message.text.trim() !== "") return false;
  return message.role === "assistant" ? message.calls.length === 0 : imagesOf(message).length === 0;
}

/** Whether a piece joins the message before it. Nothing may come between an assistant's calls and their results. */
export function joins(before: ModelMessage, next: ModelMessage): boolean {
  if (before.role !== next.role || next.role === "tool") return false;
  return before.role !== "assistant" || before.calls.length === 0;
}

function joined(run: readonly ModelMessage[]): ModelMessage | undefined {
  const [first] = run;
  if (first === undefined || run.length === 1) return first;
  const text = run.map((piece) => piece.text).join(SEPARATOR);
  if (first.role === "system" || first.role === "tool") return { ...first, text };
  if (first.role === "assistant") {
    const spoken = run.filter((piece) => piece.text !== "").map((piece) => piece.text);
    return {
      role: "assistant",
      text: spoken.join(SEPARATOR),
      calls: run.flatMap((piece) => (piece.role === "assistant" ? piece.calls : [])),
    };
  }
  const images = joinedImages(run);
  const isOfImages = run.every((piece) => piece.role === "user" && piece.isOfImages === true);
  const isSteering = run.some((piece) => piece.role === "user" && piece.isSteering === true);
  return {
    role: "user",
    text,
    ...(images.length > 0 && { images }),
    ...(isOfImages && { isOfImages }),
    ...(isSteering && { isSteering }),
  };
}

/** Each image stays after the line that it came with. */
function joinedImages(run: readonly ModelMessage[]): ModelImage[] {
  let from = 0;
  return run.flatMap((piece) => {
    const start = from;
    from += piece.text.length + SEPARATOR.length;
    return imagesOf(piece).map((image) => ({ ...image, at: start + (image.at ?? piece.text.length) }));
  });
}

export function imagesOf(message: ModelMessage): readonly ModelImage[] {
  return message.role === "user" ? (message.images ?? []) : [];
}

/**
 * A message's text and pictures in their order, the text cut at these ends. Joined, the texts are the message's own.
 * @param ends UTF-16 units of the text
 * @returns `isEnd`: the text ends at one of these ends
 */
export function contentParts(
  message: ModelMessage,
  ends: Iterable<number> = [],
): ({ readonly text: string; readonly isEnd: boolean } | { readonly image: ModelImage })[] {
  const { text } = message;
  const images = imagesOf(message).map((image) => ({ image, at: image.at ?? text.length }));
  const stable = new Set(ends);
  const cuts = [...new Set([...stable, ...images.map(({ at }) => at), text.length])]
    .filter((cut) => cut >= 0 && cut <= text.length)
    .toSorted((a, b) => a - b);
  let from = 0;
  return cuts.flatMap((cut) => {
    const part = text.slice(from, cut);
    from = cut;
    return [
      ...(part === "" ? [] : [{ text: part, isEnd: stable.has(cut) }]),
      ...images.filter(({ at }) => at === cut).map(({ image }) => ({ image })),
    ];
  });
}
