import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";

import type { ModelMessage } from "../../core/context.ts";
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
  const marked = dialect.takesCacheMarkers ? markedPlaces(request) : NOTHING_MARKED;
  return {
    model: request.model,
    messages: request.messages.flatMap((message, place) => {
      const param = isMarkable(message) && marked.has(place) ? markedParam(message) : messageParam(message);
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
 * The places of the messages that carry a marker: the last at each stable end that can. Anthropic takes four in a request, and looks
 * for what it has cached up to 20 blocks before each; a prefix of less than 512 to 4,096 tokens, by model, is cached
 * nowhere and no error (Anthropic's and LiteLLM's guides to prompt caching, read in November 2026).
 */
export function markedPlaces({ messages, stableEnds = [] }: ModelRequest): ReadonlySet<number> {
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
export function functionName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}
