import { canonical, endOf, type TextEnd } from "./canonical.ts";
import { type Context, contextPieces, type ModelMessage } from "./context.ts";

export interface ContextRequest {
  readonly messages: readonly ModelMessage[];
  /**
   * The ends of the stable parts of a request, ascending: the system prompt, each summary, and the beginning of the
   * next turn's request. Pictures are shown once, so the last one ends before the first of them.
   */
  readonly stableEnds: readonly TextEnd[];
}

export function contextRequest(context: Context): ContextRequest {
  const pieces = contextPieces(context);
  const { messages, places } = canonical(pieces);
  const ends: TextEnd[] = [];
  let index = 0;
  let end: TextEnd | null = null;
  const note = (): void => {
    const last = ends.at(-1);
    if (end !== null && (last?.message !== end.message || last.length !== end.length)) ends.push(end);
  };
  for (const segment of context.segments) {
    if (segment.key === "dynamic") break;
    let isPictured = false;
    for (const piece of segment.messages) {
      const place = places[index++] ?? null;
      if (place !== null) end = endOf(place, piece);
      isPictured = piece.role === "user" && piece.images !== undefined;
      if (isPictured) break;
      // A landing adds one after it, and leaves the earlier ones.
      if (segment.key === "summaries") note();
    }
    if (isPictured) break;
    if (segment.key === "system") note();
  }
  note();
  return { messages, stableEnds: ends };
}
