import type { UnseenAnswer } from "../../core/entry.ts";
import type { PlatformError } from "../../platforms/platform.ts";
import type { Delivery, PendingAnswer } from "../../store/turns/deliveries.ts";
import { plainText } from "../../text/plain-text.ts";
import { splitText } from "../../text/split-message.ts";

/** What a refusal of a call leaves to be tried: the text itself may be accepted in another call. Pure functions. */

/** Suffix of the key of a part that is posted again because its message takes no edit. */
const ANEW = "/anew";
/** The shorter texts of a refused part are this many times shorter. */
const SHORTER = 4;
const SHORTEST = 4;

/** The pieces of a part that its platform refuses as a whole. */
export function shortTexts(whole: string, maxLength: number): string[] {
  return splitText(whole, Math.max(SHORTEST, Math.floor(maxLength / SHORTER)));
}

/** The text of a delivery. @param parts of the answer, as it was split */
export function textOf(
  { part, form, piece }: Pick<Delivery, "part" | "form" | "piece">,
  parts: readonly string[],
  maxLength: number,
): string {
  const whole = parts[part] ?? "";
  if (form === "whole") return whole;
  const short = shortTexts(whole, maxLength)[piece] ?? "";
  return form === "plain" ? plainText(short) : short;
}

/**
 * What to try after a refusal: a new message instead of an edit, shorter pieces, or no markup. Weir stops trying this text (`refused`), or
 * any text in this place (`gone`).
 */
export type NextAttempt = "anew" | "short" | "plain" | "refused" | "gone";

/**
 * The rule for every refusal, of a known code or an unknown one. A refused edit says nothing about the text. A refused new message does,
 * unless its place is gone.
 * @param isEdit a message was there, and was to be edited
 * @param pieces number of shorter texts; 0: it is a file, which may be refused where texts are accepted
 */
export function nextAttempt(
  { form, idempotencyKey }: Pick<Delivery, "form" | "idempotencyKey">,
  refusal: Pick<PlatformError, "kind">,
  isEdit: boolean,
  pieces: number,
): NextAttempt {
  // Once: a person who deletes it a second time means it.
  if (isEdit && !idempotencyKey.endsWith(ANEW)) return "anew";
  if (pieces === 0) return "refused";
  if (refusal.kind === "gone") return "gone";
  if (form === "plain") return "refused";
  return form === "whole" && pieces > 1 ? "short" : "plain";
}

/** The key of the next attempt; of a shorter text: of that piece. */
export function keyOf(
  { idempotencyKey }: Pick<Delivery, "idempotencyKey">,
  next: "anew" | "plain" | number,
): string {
  if (typeof next === "number") return `${idempotencyKey}/short-${next}`;
  return next === "anew" ? `${idempotencyKey}${ANEW}` : `${idempotencyKey}/plain`;
}

/** What people have not seen of an answer; no gaps: files of it. @param lost in order */
export function unseenOf(
  answer: Pick<PendingAnswer, "seq" | "acceptedAt">,
  parts: readonly string[],
  lost: readonly Pick<Delivery, "part" | "form" | "piece">[],
  maxLength: number,
): UnseenAnswer {
  const spans = lost
    .filter(({ part }) => part < parts.length)
    .map((delivery) => spanOf(delivery, parts, maxLength));
  const gaps: { from: number; to: number }[] = [];
  for (const span of spans) {
    const last = gaps.at(-1);
    if (last !== undefined && span.from <= last.to + 1) last.to = span.to;
    else gaps.push({ ...span });
  }
  return { answer: answer.seq, askedAt: answer.acceptedAt, of: lengthOf(parts), gaps };
}

/** Where a delivery stands in its answer, in characters. */
function spanOf(
  { part, form, piece }: Pick<Delivery, "part" | "form" | "piece">,
  parts: readonly string[],
  maxLength: number,
): { readonly from: number; readonly to: number } {
  const before = lengthOf(parts.slice(0, part));
  const whole = parts[part] ?? "";
  if (form === "whole") return { from: before, to: before + whole.length };
  const pieces = shortTexts(whole, maxLength);
  const from = before + lengthOf(pieces.slice(0, piece));
  const isLast = piece >= pieces.length - 1;
  return { from, to: isLast ? before + whole.length : from + (pieces[piece]?.length ?? 0) };
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}
