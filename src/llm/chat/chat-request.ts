import type {
  ChatCompletionContentPart,
  ChatCompletionContentPartText,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";

import { contentParts, imagesOf, type TextPart } from "../../core/canonical.ts";
import type { ModelImage, ModelMessage, TextEnd } from "../../core/context.ts";
import { objectJson, type ToolCall } from "../../core/entry.ts";
import { unreachable } from "../../core/errors.ts";
import type { Api, Dialect, Effort } from "../dialect.ts";
import type { ModelTimeouts } from "../http/watchdog.ts";
import type { ModelRequest } from "../model.ts";

/** A model server. */
export interface ChatServer {
  /** What its models' names begin with: `NAME/`. Default: nothing. */
  readonly prefix?: string;
  /** The table that configures it, for messages to the operator. Default: `llm`. */
  readonly table?: string;
  /** Sent with each request, beside those of the API. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** With the version, as `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Undefined: the server wants none. */
  readonly apiKey: string | undefined;
  /** How it is spoken to; `auto` learns that of refusals. Default: `auto`. */
  readonly api?: Api | "auto";
  /** OpenAI's own server, which takes other fields than the compatible ones. */
  readonly isOpenAi: boolean;
  /** Anthropic's own server. Default: it is not. */
  readonly isAnthropic?: boolean;
  /** It knows `prompt_cache_key`. */
  readonly takesCacheKey: boolean;
  /** It takes `cache_control` for this model; undefined: for none. */
  readonly takesCacheMarkers?: (model: string) => boolean;
  readonly timeouts: ModelTimeouts;
}

/** A model as its server calls it. */
export function nameAtServer(model: string, { prefix = "" }: Pick<ChatServer, "prefix">): string {
  return model.startsWith(prefix) ? model.slice(prefix.length) : model;
}

/** Models of OpenAI that think, by its model pages, read in November 2026. */
const REASONING = /^(?:gpt-[5-9](?!.*chat)|o\d)/;
/** Those of them that take tools, or requests at all, on Responses alone. */
const ON_RESPONSES = /^gpt-(?:5\.[4-9]|[6-9])|^(?:gpt-5|o\d).*-(?:pro|codex|deep-research)/;

/**
 * What is sent to a model that has refused nothing. OpenAI's current models refuse `max_tokens`; every other server knows it. With tools,
 * gpt-5.4 and later think on Responses alone; where the configuration wants Chat Completions they are asked not to. An answer that a
 * person waits for should not spend its output limit on thinking, and a model that thinks takes no temperature. Source: the providers'
 * model pages and their refusals, read in November 2026.
 */
export function initialDialect(model: string, server: DialectServer): Dialect {
  const { isOpenAi, isAnthropic = false, api: wanted = "auto" } = server;
  const isThinking = isOpenAi && REASONING.test(model);
  const own = isAnthropic ? "messages" : isOpenAi && ON_RESPONSES.test(model) ? "responses" : "chat";
  const api = wanted === "auto" ? own : wanted;
  return {
    api,
    outputLimit: isOpenAi ? "max_completion_tokens" : "max_tokens",
    outputCap: undefined,
    takesStreamOptions: true,
    takesTemperature: !(isThinking && api === "responses"),
    takesTools: true,
    takesCacheKey: server.takesCacheKey,
    takesCacheMarkers: server.takesCacheMarkers?.(model) ?? false,
    takesUserBehindTool: true,
    reasoning: effortFor(model, api, isThinking),
    without: [],
  };
}

type DialectServer = Pick<
  ChatServer,
  "isOpenAi" | "isAnthropic" | "api" | "takesCacheKey" | "takesCacheMarkers"
>;

function effortFor(model: string, api: Api, isThinking: boolean): Effort | undefined {
  if (!isThinking) return undefined;
  if (api === "responses") return "low";
  return /^gpt-(?:5\.[4-9]|[6-9])/.test(model) ? "none" : undefined;
}

/** The body of a streamed Chat Completions request. */
export function chatRequestBody(
  request: ModelRequest,
  dialect: Dialect,
): ChatCompletionCreateParamsStreaming {
  const hasTools = dialect.takesTools && request.tools.length > 0;
  const marked = dialect.takesCacheMarkers ? markedEnds(request) : NOTHING_MARKED;
  return {
    model: request.model,
    messages: request.messages.flatMap((message, place) => {
      const param = messageParam(message, marked.get(place));
      const isBehindTool = message.role === "user" && request.messages[place - 1]?.role === "tool";
      return isBehindTool && !dialect.takesUserBehindTool ? [BRIDGE, param] : param;
    }),
    stream: true,
    ...(dialect.outputLimit !== undefined && { [dialect.outputLimit]: outputLimitOf(request, dialect) }),
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

/** Tokens of the longest answer to ask for. */
export function outputLimitOf(
  { maxOutputTokens }: Pick<ModelRequest, "maxOutputTokens">,
  { outputCap = Infinity }: Pick<Dialect, "outputCap">,
): number {
  return Math.min(maxOutputTokens, outputCap);
}

/** Says nothing; some servers refuse an empty text. */
const BRIDGE: ChatCompletionMessageParam = { role: "assistant", content: "…" };

/**
 * By message, where in its text a marker stands: at each stable end, or where there can be none, at the last place before it.
 * Anthropic takes four in a request, and looks for what it has cached up to 20 blocks before each; a prefix of less than 512 to
 * 4,096 tokens, by model, is cached nowhere and no error (Anthropic's and LiteLLM's guides to prompt caching, read in November 2026).
 */
export function markedEnds({
  messages,
  stableEnds = [],
}: ModelRequest): ReadonlyMap<number, ReadonlySet<number>> {
  const marked = new Map<number, Set<number>>();
  for (const end of stableEnds.slice(-MAX_MARKERS)) {
    const place = markablePlace(messages, end);
    if (place !== null) marked.set(place.message, (marked.get(place.message) ?? new Set()).add(place.length));
  }
  return marked;
}

const NOTHING_MARKED: ReadonlyMap<number, ReadonlySet<number>> = new Map();
/** One less than there may be: some gateways set one of their own. */
const MAX_MARKERS = 3;

/** LiteLLM hands on a tool's parts as they are, where Anthropic refuses the marker; and an empty text takes none. */
function markablePlace(messages: readonly ModelMessage[], { message, length }: TextEnd): TextEnd | null {
  for (let index = Math.min(message, messages.length - 1); index >= 0; index--) {
    const { role = "tool", text = "" } = messages[index] ?? {};
    const end = Math.min(index < message ? Infinity : length, text.length);
    if ((role === "system" || role === "user") && text.slice(0, end).trim() !== "")
      return { message: index, length: end };
  }
  return null;
}

/** @param marked UTF-16 units of its text at which a marker stands */
function messageParam(
  message: ModelMessage,
  marked: ReadonlySet<number> = new Set(),
): ChatCompletionMessageParam {
  switch (message.role) {
    case "system": {
      const texts = contentParts(message, marked).flatMap((part) => ("image" in part ? [] : textParam(part)));
      return { role: "system", content: marked.size === 0 ? message.text : texts };
    }
    case "user":
      return { role: "user", content: userContent(message, marked) };
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

function userContent(
  message: ModelMessage & { role: "user" },
  marked: ReadonlySet<number>,
): string | ChatCompletionContentPart[] {
  if (marked.size === 0 && imagesOf(message).length === 0) return message.text;
  return contentParts(message, marked).map((part) =>
    "image" in part ? imageParam(part.image) : textParam(part),
  );
}

function textParam({ text, isEnd }: TextPart): ChatCompletionContentPartText {
  return { type: "text", text, ...(isEnd && { cache_control: { type: "ephemeral" } }) };
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
export function functionName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}
