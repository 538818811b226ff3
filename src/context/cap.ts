import type { ModelMessage } from "../core/context.ts";
import { objectJson } from "../core/entry.ts";
import { sliceWhole, truncateMiddle } from "../text/text.ts";
import { estimateTokens, HEAVIEST_UNIT, LIGHTEST_UNIT, MESSAGE_OVERHEAD } from "../text/tokens.ts";

/** Makes a message at most `cap` tokens long, its calls too. */
export function capMessage(message: ModelMessage, cap: number): ModelMessage {
  if (message.role !== "assistant") return { ...message, text: capText(message.text, cap) };
  const named = message.calls.map((call) => ({ ...call, name: sliceWhole(call.name, 0, LONGEST_NAME) }));
  const fixed = named.reduce(
    (sum, { name }) => sum + estimateTokens(name) + MESSAGE_OVERHEAD,
    MESSAGE_OVERHEAD,
  );
  const share = Math.floor((cap - fixed) / (named.length + 1));
  const calls = named.map((call) => ({ ...call, arguments: capArguments(call.arguments, share) }));
  return { ...message, text: capText(message.text, share + MESSAGE_OVERHEAD), calls };
}

/** Cut arguments stay JSON. */
function capArguments(json: string, cap: number): string {
  if (estimateTokens(objectJson(json)) <= cap) return json;
  const cut = JSON.stringify({ cut: capText(json, Math.floor(cap / 2)) });
  return estimateTokens(cut) <= cap ? cut : "{}";
}

/** OpenAI's limit for the name of a function: a longer name is the model's invention. */
const LONGEST_NAME = 64;

/** Marks a text that is too short for a full note of the cut, so that nobody takes it for the whole. */
const CUT_SHORT = " […]";

function shortened(text: string, length: number, size: number): string {
  if (length >= size) return text;
  return length < 40 ? sliceWhole(text, 0, length) + CUT_SHORT : truncateMiddle(text, length, size);
}

/**
 * Cuts the middle out of a text until its estimate is at most `cap` tokens.
 * @param head its beginning, which is cut with it
 */
export function capText(body: string, cap: number, head = ""): string {
  const size = head.length + body.length;
  if (size * HEAVIEST_UNIT + 1 + MESSAGE_OVERHEAD <= cap) return head + body;
  // Bounds the measured part of a long text: more exceeds the cap, whatever its characters.
  const most = Math.max(0, Math.ceil(cap / LIGHTEST_UNIT));
  // The middle is lost anyway: joining the whole of a long paste would copy it for each tried cap.
  const isLong = body.length > 2 * (most + 1);
  const text = head + (isLong ? body.slice(0, most + 1) + body.slice(-(most + 1)) : body);
  let length = Math.min(size, most);
  while (length > 0) {
    const cut = shortened(text, length, size);
    const tokens = estimateTokens(cut) + MESSAGE_OVERHEAD;
    if (tokens <= cap) return cut;
    length = Math.floor(length * Math.min(0.95, cap / tokens));
  }
  return "";
}

export interface StubSize {
  /** Longest result that stays whole, in UTF-16 units. */
  readonly stubOver: number;
  /** Length of a shortened result, in UTF-16 units. */
  readonly stubLength: number;
}

export function stubOf(text: string, { stubOver, stubLength }: StubSize): string {
  if (text.length <= stubOver) return text;
  const stub = `${sliceWhole(text, 0, stubLength)} [… ${text.length} characters in all]`;
  return stub.length < text.length ? stub : text;
}
