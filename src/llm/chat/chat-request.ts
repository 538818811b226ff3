import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";

import type { ModelMessage } from "../../core/context.ts";
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
  /** It takes `cache_control` for this model; undefined: for none. */
  readonly takesCacheMarkers?: (model: string) => boolean;
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
  /** Takes `cache_control` on a part of a message's text. */
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
  {
    isOpenAi,
    takesCacheKey,
    takesCacheMarkers,
  }: Pick<ChatServer, "isOpenAi" | "takesCacheKey" | "takesCacheMarkers">,
): Dialect {
  return {
    outputLimit: isOpenAi ? "max_completion_tokens" : "max_tokens",
    outputCap: undefined,
    takesStreamOptions: true,
    takesTemperature: true,
    takesTools: true,
    takesCacheKey,
    takesCacheMarkers: takesCacheMarkers?.(model) ?? false,
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
  /does not support tools|support tool use|enable-auto-tool-choice|tools param requires --jinja|(?:tools?|function calling) (?:is|are) not supported/i;

/** Servers that name the field, or that want a message's text as a text and not in parts (pydantic's words). */
const NO_MARKERS = /cache_control|valid string/i;

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
): ChatCompletionCreateParamsStreaming {
  const limit = Math.min(request.maxOutputTokens, dialect.outputCap ?? Number.POSITIVE_INFINITY);
  const hasTools = dialect.takesTools && request.tools.length > 0;
  const marked = dialect.takesCacheMarkers ? markedPlaces(request) : NOTHING_MARKED;
  return {
    model: request.model,
    messages: request.messages.flatMap((message, place) => {
      const param = isMarkable(message) && marked.has(place) ? markedParam(message) : messageParam(message);
      const isBehindTool = message.role === "user" && request.messages[place - 1]?.role === "tool";
      return isBehindTool && !dialect.takesUserBehindTool ? [BRIDGE, param] : param;
    }),
    stream: true,
    [dialect.outputLimit]: limit,
    ...(dialect.takesStreamOptions && { stream_options: { include_usage: true } }),
    ...(dialect.takesTemperature &&
      request.temperature !== undefined && { temperature: request.temperature }),
    ...(dialect.takesCacheKey && request.cacheKey !== undefined && { prompt_cache_key: request.cacheKey }),
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

/**
 * The places of the messages that carry a marker: the last at each stable end that can. Anthropic takes four in a request, and looks
 * for what it has cached up to 20 blocks before each; a prefix of less than 512 to 4,096 tokens, by model, is cached
 * nowhere and no error (Anthropic's and LiteLLM's guides to prompt caching, read in November 2026).
 */
function markedPlaces({ messages, stableEnds = [] }: ModelRequest): ReadonlySet<number> {
  const ends = stableEnds.slice(-MAX_MARKERS);
  return new Set(ends.map((end) => messages.slice(0, end).findLastIndex(isMarkable)));
}

const NOTHING_MARKED: ReadonlySet<number> = new Set();
/** One less than there may be: some gateways set one of their own. */
const MAX_MARKERS = 3;

/** LiteLLM hands on a tool's parts as they are, where Anthropic refuses the marker; and an empty text takes none. */
function isMarkable(message: ModelMessage): message is MarkableMessage {
  const isPlain = message.role === "system" || (message.role === "user" && message.images === undefined);
  return isPlain && message.text.trim() !== "";
}

type MarkableMessage = ModelMessage & { readonly role: "system" | "user" };

function markedParam({ role, text }: MarkableMessage): ChatCompletionMessageParam {
  const content = [{ type: "text" as const, text, cache_control: { type: "ephemeral" } }];
  return { role, content };
}

function messageParam(message: ModelMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user":
      return { role: "user", content: userContent(message) };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text };
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

function userContent({
  text,
  images = [],
}: ModelMessage & { role: "user" }): string | ChatCompletionContentPart[] {
  if (images.length === 0) return text;
  const pictures = images.map(({ type, base64 }) => ({
    type: "image_url" as const,
    image_url: { url: `data:${type};base64,${base64}` },
  }));
  return [{ type: "text", text }, ...pictures];
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
