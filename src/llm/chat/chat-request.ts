import type {
  ChatCompletionContentPart,
  ChatCompletionContentPartText,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";

import { imagesOf } from "../../core/canonical.ts";
import type { ModelImage, ModelMessage } from "../../core/context.ts";
import { type CacheMarks, cacheMarks, type MarkedPart, markedParts, type PartEnd } from "../caches/marks.ts";
import type { CacheRule } from "../caches/rules.ts";
import { objectJson, type ToolCall } from "../../core/entry.ts";
import { unreachable } from "../../core/errors.ts";
import type { ModelTimeouts } from "../http/watchdog.ts";
import type { ModelRequest } from "../model.ts";

/** An OpenAI-compatible server (Chat Completions). */
export interface ChatServer {
  /** With the version, as `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Undefined: the server wants none. */
  readonly apiKey: string | undefined;
  /** OpenAI's own server, which takes other fields than the compatible ones. */
  readonly isOpenAi: boolean;
  /** It knows `prompt_cache_key`. */
  readonly takesCacheKey: boolean;
  /** How it caches this model's requests; undefined: no request is marked. */
  readonly cacheRule?: (model: string) => CacheRule;
  readonly timeouts: ModelTimeouts;
}

/**
 * The form in which a model takes the fields that differ between "OpenAI-compatible" servers. A refusal
 * corrects a field. A correction that led to an answer is kept for the life of the process.
 */
export interface Dialect {
  readonly outputLimit: "max_tokens" | "max_completion_tokens";
  /** The largest output limit that the server takes. */
  readonly outputCap: number | undefined;
  readonly takesStreamOptions: boolean;
  readonly takesTemperature: boolean;
  readonly takesTools: boolean;
  /** Takes `prompt_cache_key`; strict servers refuse what they do not know. */
  readonly takesCacheKey: boolean;
  /** Takes the marks of its cache on a part of a message's text. */
  readonly takesCacheMarkers: boolean;
  /** Takes a user's message right behind results of tools; Mistral's models want an assistant's between. */
  readonly takesUserBehindTool: boolean;
  /** Sent as `reasoning_effort`. */
  readonly reasoning: "none" | undefined;
}

/**
 * OpenAI's current models refuse `max_tokens`; every other server knows it. On Chat Completions, gpt-5.4 and
 * later take tools only with `reasoning_effort: "none"`. Also, an answer that a person waits for should not
 * spend its output limit on thinking. Source: the providers' model pages and their refusals, read in November
 * 2026.
 */
export function initialDialect(
  model: string,
  { isOpenAi, takesCacheKey, cacheRule }: Pick<ChatServer, "isOpenAi" | "takesCacheKey" | "cacheRule">,
): Dialect {
  const marks = cacheRule?.(model).marks ?? "none";
  return {
    outputLimit: isOpenAi ? "max_completion_tokens" : "max_tokens",
    outputCap: undefined,
    takesStreamOptions: true,
    takesTemperature: true,
    takesTools: true,
    // Breakpoints are matched reliably only under a key (OpenAI's guide to prompt caching, read in November 2026).
    takesCacheKey: takesCacheKey || marks === "breakpoints",
    takesCacheMarkers: marks !== "none",
    takesUserBehindTool: true,
    reasoning: isOpenAi && /^gpt-(?:5\.[4-9]|[6-9])/.test(model) ? "none" : undefined,
  };
}

/**
 * The dialect that a refusal asks for.
 * @param refusal the server's own words
 * @returns undefined if the refusal is about something else
 */
export function correctedDialect(dialect: Dialect, refusal: string): Dialect | undefined {
  const cap = outputCapIn(refusal);
  if (cap !== undefined && (dialect.outputCap === undefined || cap < dialect.outputCap)) {
    return { ...dialect, outputCap: cap };
  }
  if (/reasoning_effort/i.test(refusal)) return correctedReasoning(dialect, refusal);
  if (dialect.outputLimit === "max_tokens" && /max_completion_tokens/i.test(refusal)) {
    return { ...dialect, outputLimit: "max_completion_tokens" };
  }
  if (dialect.outputLimit === "max_completion_tokens" && /max_completion_tokens/i.test(refusal)) {
    return { ...dialect, outputLimit: "max_tokens" };
  }
  if (dialect.takesStreamOptions && /stream_options|include_usage/i.test(refusal)) {
    return { ...dialect, takesStreamOptions: false };
  }
  if (dialect.takesTemperature && /temperature/i.test(refusal))
    return { ...dialect, takesTemperature: false };
  if (dialect.takesCacheKey && /prompt_cache_key/i.test(refusal)) return { ...dialect, takesCacheKey: false };
  if (dialect.takesCacheMarkers && NO_MARKERS.test(refusal)) return { ...dialect, takesCacheMarkers: false };
  if (dialect.takesUserBehindTool && /unexpected role '?user'? after role '?tool'?/i.test(refusal))
    return { ...dialect, takesUserBehindTool: false };
  if (dialect.takesTools && NO_TOOLS.test(refusal)) return { ...dialect, takesTools: false };
  return undefined;
}

/** Ollama; OpenRouter; vLLM started without a tool parser; others. */
const NO_TOOLS =
  /does not support tools|support tool use|enable-auto-tool-choice|(?:tools?|function calling) (?:is|are) not supported/i;

/** Servers that name the field, or that want a message's text as a text and not in parts (pydantic's words). */
const NO_MARKERS = /cache_control|prompt_cache_(?:options|breakpoint)|valid string/i;

function correctedReasoning(dialect: Dialect, refusal: string): Dialect | undefined {
  if (dialect.reasoning === "none") return { ...dialect, reasoning: undefined };
  return /tools/i.test(refusal) ? { ...dialect, reasoning: "none" } : undefined;
}

/** "supports at most 16384 completion tokens" (OpenAI), "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens" (Anthropic). */
function outputCapIn(refusal: string): number | undefined {
  const match =
    /at most (\d+) (?:completion|output) tokens/i.exec(refusal) ??
    /> (\d+), which is the maximum allowed number of output tokens/i.exec(refusal);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** The body of a streamed Chat Completions request. */
export function chatRequestBody(
  request: ModelRequest,
  dialect: Dialect,
  rule?: CacheRule,
): ChatCompletionCreateParamsStreaming {
  const limit = Math.min(request.maxOutputTokens, dialect.outputCap ?? Number.POSITIVE_INFINITY);
  const hasTools = dialect.takesTools && request.tools.length > 0;
  const marks = chatMarks(request, dialect.takesCacheMarkers ? rule : undefined);
  return {
    model: request.model,
    messages: request.messages.flatMap((message, place) => {
      const ends = marks.ends.filter((end) => end.message === place);
      const param = messageParam(message, ends, marks.ofPart);
      const isBehindTool = message.role === "user" && request.messages[place - 1]?.role === "tool";
      return isBehindTool && !dialect.takesUserBehindTool ? [BRIDGE, param] : param;
    }),
    stream: true,
    [dialect.outputLimit]: limit,
    ...(dialect.takesStreamOptions && { stream_options: { include_usage: true } }),
    ...(dialect.takesTemperature &&
      request.temperature !== undefined && { temperature: request.temperature }),
    ...(dialect.takesCacheKey && request.cacheKey !== undefined && { prompt_cache_key: request.cacheKey }),
    ...marks.ofRequest,
    ...(dialect.reasoning !== undefined && { reasoning_effort: dialect.reasoning }),
    ...(hasTools && {
      tools: request.tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters: { ...parameters } },
      })),
      tool_choice: request.toolChoice,
    }),
  };
}

/** Says nothing; some servers refuse an empty text. */
const BRIDGE: ChatCompletionMessageParam = { role: "assistant", content: "…" };

/** LiteLLM hands on a result's parts as they are, where Anthropic refuses the mark: OpenAI alone takes one there. */
function chatMarks(request: ModelRequest, rule: CacheRule | undefined): CacheMarks {
  return cacheMarks(request, rule, rule?.marks === "breakpoints");
}

/**
 * @param ends where its text is split into parts
 * @param fields of a part that is marked
 */
function messageParam(
  message: ModelMessage,
  ends: readonly PartEnd[],
  fields: object,
): ChatCompletionMessageParam {
  switch (message.role) {
    case "system":
      return { role: "system", content: textContent(message, ends, fields) };
    case "user":
      return { role: "user", content: userContent(message, ends, fields) };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: textContent(message, ends, fields) };
    case "assistant":
      return {
        role: "assistant",
        // Not "": gateways to Anthropic refuse an empty text block beside calls.
        content: message.text === "" && message.calls.length > 0 ? null : message.text,
        ...(message.calls.length > 0 && { tool_calls: message.calls.map((call) => callParam(call)) }),
      };
    default:
      return unreachable(message);
  }
}

function userContent(
  message: ModelMessage & { role: "user" },
  ends: readonly PartEnd[],
  fields: object,
): string | ChatCompletionContentPart[] {
  if (imagesOf(message).length === 0) return textContent(message, ends, fields);
  return markedParts(message, ends).map((part) =>
    "image" in part ? imageParam(part.image) : textParam(part, fields),
  );
}

function textContent(
  message: ModelMessage,
  ends: readonly PartEnd[],
  fields: object,
): string | ChatCompletionContentPartText[] {
  if (ends.length === 0) return message.text;
  return markedParts(message, ends).flatMap((part) => ("image" in part ? [] : textParam(part, fields)));
}

function textParam({ text, isMarked }: MarkedPart, fields: object): ChatCompletionContentPartText {
  return { type: "text", text, ...(isMarked && fields) };
}

function imageParam({ type, base64 }: ModelImage): ChatCompletionContentPart {
  return { type: "image_url", image_url: { url: `data:${type};base64,${base64}` } };
}

function callParam({ id, name, arguments: json }: ToolCall) {
  return {
    id,
    type: "function" as const,
    function: { name: functionName(name), arguments: objectJson(json) },
  };
}

/** In the form that OpenAI takes: it would refuse each later request with one invalid name. */
function functionName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}
