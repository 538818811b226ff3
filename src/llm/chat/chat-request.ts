import { createHash } from "node:crypto";
import type {
  ChatCompletionContentPart,
  ChatCompletionContentPartText,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";

import { imagesOf } from "../../core/canonical.ts";
import type { ModelImage, ModelMessage } from "../../core/context.ts";
import { cacheMarks, type MarkedPart, markedParts, type PartEnd } from "../caches/marks.ts";
import type { CacheRule } from "../caches/rules.ts";
import { objectJson, type ToolCall } from "../../core/entry.ts";
import type { Api, Dialect, Effort } from "../dialect.ts";
import type { ModelTimeouts } from "../http/watchdog.ts";
import type { ModelRequest } from "../model.ts";

export interface ChatServer {
  /** The beginning of its models' names: `NAME/`. Default: none. */
  readonly prefix?: string;
  /** Its table of the configuration, for messages to the operator. Default: `llm`. */
  readonly table?: string;
  /** Sent with each request, besides the API's. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** With the version: `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Undefined: the server needs none. */
  readonly apiKey: string | undefined;
  /** Its API; `auto` learns it from refusals. Default: `auto`. */
  readonly api?: Api | "auto";
  /** OpenAI's own server, whose fields differ from compatible ones. */
  readonly isOpenAi: boolean;
  /** Anthropic's own server. Default: no. */
  readonly isAnthropic?: boolean;
  /** It knows `prompt_cache_key`. */
  readonly takesCacheKey: boolean;
  /** How it caches this model's requests; undefined: requests have no marks. */
  readonly cacheRule?: (model: string, api: Api) => CacheRule;
  readonly timeouts: ModelTimeouts;
}

export function nameAtServer(model: string, { prefix = "" }: Pick<ChatServer, "prefix">): string {
  return model.startsWith(prefix) ? model.slice(prefix.length) : model;
}

/** OpenAI's reasoning models, by its model pages, read in November 2026. */
const REASONING = /^(?:gpt-[5-9](?!.*chat)|o\d)/;
/** Those of them that take tools, or any request, on Responses alone. */
const ON_RESPONSES = /^gpt-(?:5\.[4-9]|[6-9])|^(?:gpt-5|o\d).*-(?:pro|codex|deep-research)/;

/**
 * The dialect for a model that has refused nothing. OpenAI's current models refuse `max_tokens`; all other servers know
 * it. With tools, gpt-5.4 and later think on Responses alone; if the configuration requires Chat Completions, they are
 * asked not to think. An answer that a person waits for should not spend its output limit on thinking, and reasoning
 * models take no temperature. Source: the providers' model pages and their refusals, read in November 2026.
 */
export function initialDialect(
  model: string,
  server: Pick<ChatServer, "isOpenAi" | "isAnthropic" | "api" | "takesCacheKey" | "cacheRule">,
): Dialect {
  const { isOpenAi, isAnthropic = false, api: wanted = "auto" } = server;
  const isThinking = isOpenAi && REASONING.test(model);
  const own = isAnthropic ? "messages" : isOpenAi && ON_RESPONSES.test(model) ? "responses" : "chat";
  const api = wanted === "auto" ? own : wanted;
  const marks = server.cacheRule?.(model, api).marks ?? "none";
  return {
    api,
    outputLimit: isOpenAi ? "max_completion_tokens" : "max_tokens",
    outputCap: undefined,
    takesStreamOptions: true,
    takesTemperature: !(isThinking && api === "responses"),
    takesTools: true,
    // Breakpoints are matched reliably only with a key (OpenAI's guide to prompt caching, read in November 2026).
    takesCacheKey: server.takesCacheKey || marks === "breakpoints",
    takesCacheMarkers: marks !== "none",
    takesUserBehindTool: true,
    takesToolRole: true,
    takesSystemRole: true,
    takesAnyCallId: true,
    takesBareCalls: true,
    reasoning: effortFor(model, api, isThinking),
    without: [],
  };
}

function effortFor(model: string, api: Api, isThinking: boolean): Effort | undefined {
  if (!isThinking) return undefined;
  if (api === "responses") return "low";
  return /^gpt-(?:5\.[4-9]|[6-9])/.test(model) ? "none" : undefined;
}

export function chatRequestBody(
  request: ModelRequest,
  dialect: Dialect,
  rule?: CacheRule,
): ChatCompletionCreateParamsStreaming {
  const hasTools = dialect.takesTools && request.tools.length > 0;
  // LiteLLM passes a result's parts on unchanged, where Anthropic refuses the mark: only OpenAI takes one there.
  const marks = cacheMarks(
    request,
    dialect.takesCacheMarkers ? rule : undefined,
    rule?.marks === "breakpoints",
  );
  return {
    model: request.model,
    messages: request.messages.flatMap((message, place) => {
      const ends = marks.ends.filter((end) => end.message === place);
      const param = messageParam(message, ends, marks.ofPart, dialect);
      const isBehindTool = message.role === "user" && request.messages[place - 1]?.role === "tool";
      return isBehindTool && !dialect.takesUserBehindTool ? [BRIDGE, param] : param;
    }),
    stream: true,
    ...(dialect.outputLimit !== undefined && { [dialect.outputLimit]: outputLimitOf(request, dialect) }),
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

/** Longest answer to ask for, in tokens. */
export function outputLimitOf(
  { maxOutputTokens }: Pick<ModelRequest, "maxOutputTokens">,
  { outputCap = Infinity }: Pick<Dialect, "outputCap">,
): number {
  return Math.min(maxOutputTokens, outputCap);
}

/** Fills in for an empty text, which some servers refuse. */
const BRIDGE: ChatCompletionMessageParam = { role: "assistant", content: "…" };

/**
 * @param ends where its text is split into parts
 * @param fields of a marked part
 */
function messageParam(
  message: ModelMessage,
  ends: readonly PartEnd[],
  fields: object,
  { takesAnyCallId, takesBareCalls }: Pick<Dialect, "takesAnyCallId" | "takesBareCalls">,
): ChatCompletionMessageParam {
  const idOf = (id: string): string => (takesAnyCallId ? id : shortId(id));
  switch (message.role) {
    case "system":
      return { role: "system", content: textContent(message, ends, fields) };
    case "user":
      return { role: "user", content: userContent(message, ends, fields) };
    case "tool":
      return {
        role: "tool",
        tool_call_id: idOf(message.callId),
        content: textContent(message, ends, fields),
      };
    case "assistant":
      return {
        role: "assistant",
        // Not "": gateways to Anthropic refuse an empty text block beside calls.
        content: message.text === "" && message.calls.length > 0 ? null : message.text,
        ...(message.calls.length > 0 && {
          tool_calls: message.calls.map((call) => callParam({ ...call, id: idOf(call.id) })),
          ...(!takesBareCalls && { reasoning_content: "" }),
        }),
      };
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

/** Nine letters and digits: the id itself if it has this form, else a hash of it. */
function shortId(id: string): string {
  return /^[a-z\d]{9}$/i.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}

/** A name in the form that OpenAI takes: one invalid name would make it refuse each later request. */
export function functionName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}
