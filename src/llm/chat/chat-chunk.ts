import { z } from "zod";

/**
 * One event of a streamed answer, as loosely as real servers write it: fields are missing, null, or of another
 * shape than OpenAI documents. A server that ignores `stream` sends `message` where `delta` should be.
 */

const callPiece = z.object({
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z
    .object({
      name: z.string().nullish(),
      arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
    })
    .nullish(),
});

const contentPart = z.looseObject({ type: z.string().nullish(), text: z.string().nullish() });

// Loose: the name of thinking varies (`reasoning_content`, `reasoning`, …), and only its presence matters.
const delta = z.looseObject({
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(callPiece).nullish(),
});

/** The largest number that a column of the log takes. */
const MAX_COUNT = 2 ** 31 - 1;

/** Tokens, a whole number of 0 to 2^31 - 1; undefined if the server sent no number. */
const count = z
  .number()
  .transform((tokens) => Math.min(MAX_COUNT, Math.max(0, Math.round(tokens))))
  .nullish()
  .catch(undefined);

// Invalid usage must not void the answer: the usage may be in the chunk that ends it.
export const reportedUsage = z
  .object({
    prompt_tokens: count,
    completion_tokens: count,
    prompt_tokens_details: z
      // The second name is LiteLLM's.
      .object({ cached_tokens: count, cache_write_tokens: count, cache_creation_tokens: count })
      .nullish()
      .catch(undefined),
    // DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: count,
    // Anthropic's name for written tokens, as gateways hand it on.
    cache_creation_input_tokens: count,
  })
  .nullish()
  .catch(undefined);

export const chatChunk = z.object({
  choices: z
    .array(
      z.object({ delta: delta.nullish(), message: delta.nullish(), finish_reason: z.string().nullish() }),
    )
    .nullish(),
  usage: reportedUsage,
  // vLLM's in-stream error has no `error` field.
  object: z.string().nullish().catch(undefined),
  message: z.string().nullish().catch(undefined),
});

export type ReportedUsage = z.infer<typeof reportedUsage>;
export type ChatChunk = z.infer<typeof chatChunk>;
export type CallPiece = z.infer<typeof callPiece>;
export type ChatDelta = z.infer<typeof delta>;

/**
 * All that a delta holds of an answer: text, names and arguments of calls, thinking. Servers send the same thinking under two names, and
 * as a list beside it: it counts once.
 */
export function receivedText({ content, refusal, tool_calls: calls, ...others }: ChatDelta): string {
  const ofCalls = (calls ?? []).map(({ function: called }) => {
    const given = called?.arguments ?? "";
    return (called?.name ?? "") + (typeof given === "string" ? given : JSON.stringify(given));
  });
  let thinking = "";
  for (const [key, value] of Object.entries(others)) {
    const text = key === "role" ? "" : textIn(value);
    if (text.length > thinking.length) thinking = text;
  }
  return textIn(content) + (refusal ?? "") + ofCalls.join("") + thinking;
}

/** A text, or the texts of a list of parts. */
function textIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part: unknown) => textIn(partIn(part))).join("");
}

function partIn(part: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  if ("text" in part && part.text != null) return part.text;
  return "thinking" in part ? part.thinking : undefined;
}

/** The text of a delta. Mistral's reasoning models send parts; only parts of type `text` are visible. */
export function deltaText({ content, refusal }: ChatDelta): string {
  if (Array.isArray(content)) {
    return content.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
  }
  return (content ?? "") + (refusal ?? "");
}
