import { z } from "zod";

/**
 * One event of a streamed answer, read as loosely as real servers write it: any field may be missing, null, or of
 * another type than OpenAI documents. An invalid field does not affect the others.
 */
export interface ChatChunk {
  readonly text: string;
  readonly calls: readonly CallPiece[];
  /** The answer's whole content in it: text, calls, thinking. */
  readonly received: string;
  /** It has a field besides the role: text, calls, or thinking under any name. */
  readonly isAlive: boolean;
  /** It has a `message` instead of a `delta`: the answer so far, or the whole of an unstreamed body. */
  readonly isMessage: boolean;
  /** It has `choices`, or an answer without them. */
  readonly isCompletion: boolean;
  readonly finish: Finish | undefined;
  readonly usage: ReportedUsage;
}

/** A piece of a tool call; missing fields are empty. */
export interface CallPiece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly json: string;
}

/** Why an answer ended. `error`: the server broke it off. */
export type Finish = "stop" | "length" | "filtered" | "error";

/** The largest number in a column of the log. */
const MAX_COUNT = 2 ** 31 - 1;

/** A number of tokens, 0 to 2^31 - 1; undefined: the server sent no number. */
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
    total_tokens: count,
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

export type ReportedUsage = z.infer<typeof reportedUsage>;

type Fields = Readonly<Record<string, unknown>>;

/** @returns the event's part of an answer; empty if it is no chat completion */
export function readChunk(event: unknown): ChatChunk {
  const fields = fieldsOf(event);
  const listed = fields["choices"];
  const choice = fieldsOf(Array.isArray(listed) ? listed.find((one) => isFields(one)) : (listed ?? event));
  const isMessage = !isFields(choice["delta"]) && isFields(choice["message"]);
  // The old completions have `text` beside the finish reason.
  const delta = fieldsOf(isMessage ? choice["message"] : (choice["delta"] ?? { content: choice["text"] }));
  const calls = callPieces(delta);
  return {
    text: visibleText(delta),
    calls,
    received: received(delta, calls),
    // Servers send a first delta with empty content at once, before the model begins.
    isAlive: Object.keys(delta).some((key) => key !== "role" && delta[key] != null && delta[key] !== ""),
    isMessage,
    isCompletion: Array.isArray(listed) || isMessage || isFields(choice["delta"]),
    // Ollama's own API has `done`.
    finish:
      finishOf(choice["finish_reason"] ?? choice["finishReason"]) ??
      finishOf(fields["done"] === true ? (fields["done_reason"] ?? true) : undefined),
    usage: fields["usage"] == null ? undefined : reportedUsage.parse(fields["usage"]),
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Pieces of calls. `function_call` is OpenAI's older form for a single call; some servers write a call without `function`. */
function callPieces({ tool_calls: listed, function_call: single }: Fields): readonly CallPiece[] {
  if (listed == null && single == null) return [];
  const all = Array.isArray(listed) ? listed : [listed];
  const pieces = all.concat(isFields(single) ? { function: single } : []);
  return pieces.filter((piece) => isFields(piece)).map((piece) => callPiece(piece));
}

function callPiece({ index, id, function: called, ...flat }: Fields): CallPiece {
  const { name, arguments: given } = isFields(called) ? called : flat;
  return {
    index: indexOf(index),
    id: typeof id === "number" ? String(id) : textOf(id),
    // vLLM 0.13 appends a marker of gpt-oss to names (its issue 32587).
    name: textOf(name).split("<|", 1)[0] ?? "",
    json: typeof given === "object" && given !== null ? JSON.stringify(given) : textOf(given),
  };
}

function indexOf(value: unknown): number | undefined {
  const index = typeof value === "string" && /^\d{1,4}$/.test(value) ? Number(value) : value;
  return typeof index === "number" && Number.isInteger(index) && index >= 0 ? index : undefined;
}

const LENGTH = /^(?:length|max_?tokens|max_output_tokens|model_length|max_length)$/;
/** OpenAI, Gemini, Zhipu, Anthropic through gateways. */
const FILTERED =
  /^content_?filter|^(?:safety|recitation|prohibited_content|blocklist|spii|sensitive|refusal)$/;
/** OpenRouter, Zhipu, DeepSeek, SGLang, Gemini. */
const BROKEN_OFF =
  /^(?:error|network_error|insufficient_system_resource|abort(?:ed)?|cancell?ed|malformed_function_call)$/;
/** Some servers send these with each piece. */
const NO_FINISH = /^(?:null|none|undefined|finish_reason_unspecified)?$/;

/** The finish reason in any form; an end without a known reason counts as `stop`. */
function finishOf(told: unknown): Finish | undefined {
  if (isFields(told)) return finishOf(told["type"] ?? told["reason"]);
  if (typeof told !== "string")
    return told === true || (typeof told === "number" && told > 0) ? "stop" : undefined;
  const reason = told.trim().toLowerCase();
  if (NO_FINISH.test(reason)) return undefined;
  if (LENGTH.test(reason)) return "length";
  if (FILTERED.test(reason)) return "filtered";
  return BROKEN_OFF.test(reason) ? "error" : "stop";
}

/** A delta's content. Servers send the same thinking under two names, and also as a list: it counts once. */
function received(delta: Fields, calls: readonly CallPiece[]): string {
  let thinking = "";
  for (const key of Object.keys(delta)) {
    const text = NOT_THINKING.has(key) ? "" : textIn(delta[key]);
    if (text.length > thinking.length) thinking = text;
  }
  const ofCalls = calls.map(({ name, json }) => name + json).join("");
  return textIn(delta["content"]) + textOf(delta["refusal"]) + ofCalls + thinking;
}

const NOT_THINKING = new Set(["role", "content", "refusal", "tool_calls", "function_call"]);

function textIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value
    .map((part: unknown) => textIn(isFields(part) ? (part["text"] ?? part["thinking"]) : part))
    .join("");
}

/** The text of a delta. Mistral's reasoning models send parts, whose thinking is not visible. */
function visibleText({ content, refusal }: Fields): string {
  if (typeof content === "string") return content + textOf(refusal);
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return parts.map((part) => visiblePart(part)).join("") + textOf(refusal);
}

function visiblePart(part: unknown): string {
  if (!isFields(part)) return textOf(part);
  return VISIBLE_PART.test(textOf(part["type"])) ? textOf(part["text"]) : "";
}

const VISIBLE_PART = /^(?:(?:output_)?text)?$/;
