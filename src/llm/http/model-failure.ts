import { APIConnectionError, APIError } from "openai/error";
import { z } from "zod";

import { errorMessage } from "../../core/errors.ts";
import { sliceWhole } from "../../text/text.ts";
import { ModelError, type FailureReason, type ModelErrorKind, type ModelRequest } from "../model.ts";
import { reasonOf } from "./reasons.ts";
import { retryAfterMs } from "./retry-after.ts";
import { windowRefusal, type RefusalText } from "./window-refusal.ts";

/** Longest part of a provider's text in a log line, in characters: some answer with a whole HTML page. */
const MAX_MESSAGE = 1000;

const numberOrText = z.union([z.string(), z.number()]).transform(String);
const errorBody = z.object({
  message: z.string().nullish().catch(undefined),
  code: numberOrText.nullish().catch(undefined),
  type: z.string().nullish().catch(undefined),
  param: z.string().nullish().catch(undefined),
  // A word at Gemini, an HTTP status in Groq's streams.
  status: numberOrText.nullish().catch(undefined),
  status_code: numberOrText.nullish().catch(undefined),
  // Azure's.
  innererror: z.object({ code: z.string() }).nullish().catch(undefined),
  n_ctx: z.number().nullish().catch(undefined),
});

/** The failure of a call that its caller may have ended. Pure. @param apiKey taken out of the server's words */
export function failureOfCall(
  error: unknown,
  model: string,
  signal: AbortSignal,
  apiKey?: string,
): ModelError {
  if (signal.aborted) return new ModelError("aborted", model, "the caller ended the call", { cause: error });
  return classifyFailure(error, { model, messages: [] }, new Date(), apiKey);
}

/**
 * The one place that classifies failed calls: by the table of reasons, else by status and type.
 * @param error the client's error
 * @param request its model and its messages
 * @param now for a `Retry-After` that is a date
 * @param apiKey removed from the message, which is logged: some gateways repeat a refused key
 */
export function classifyFailure(
  error: unknown,
  { model, messages }: Pick<ModelRequest, "model" | "messages">,
  now: Date,
  apiKey?: string,
): ModelError {
  // Removes the key first: a truncated key would not be found.
  const shown = (text: string): string => sliceWhole(withoutKey(text, apiKey), 0, MAX_MESSAGE);
  if (error instanceof ModelError) return error.withMessage(shown(error.message));
  const isAnswered = error instanceof APIError && !(error instanceof APIConnectionError);
  if (!isAnswered) {
    // Refused and reset connections, the raw TypeError of a destroyed socket, broken event-stream JSON.
    return new ModelError("unavailable", model, shown(connectionMessage(error)), { cause: error });
  }
  const body = errorBody.safeParse(error.error).data ?? {};
  const text = refusalText(error, body);
  // An error inside a stream has no HTTP status.
  const status = error.status ?? statusIn(text.code, body.status_code, body.status);
  const sent = messages.map((message) => message.text);
  const refusal = windowRefusal(text, sent);
  const codes = [text.code, text.type, body.status ?? "", body.innererror?.code ?? ""];
  const verdict = reasonOf({ status, codes, message: text.message }, refusal !== undefined);
  const kind = verdict?.kind ?? kindOf(status, text);
  // The client puts the status before a message, where ours has it already.
  const message = kind === "redirected" ? error.message.replace(/^\d+ /, "") : error.message;
  return new ModelError(kind, model, shown(message), {
    cause: error,
    status,
    retryAfterMs:
      kind === "rate_limited" || kind === "unavailable" ? retryAfterMs(error.headers, now) : undefined,
    window: kind === "context_length" ? refusal?.window : undefined,
    reason: verdict?.reason ?? (kind === "context_length" ? "window" : undefined),
    brief: kind === "redirected" ? undefined : briefOf(status, text, body.param ?? error.param ?? ""),
    isSurelySize: kind === "context_length" && refusal !== undefined,
  });
}

/** Host names are lower case. */
function withoutKey(text: string, apiKey: string | undefined): string {
  if (apiKey === undefined) return text;
  return text.replaceAll(apiKey, "[key]").replaceAll(apiKey.toLowerCase(), "[key]");
}

/** How far an attempt came: its request was sent completely; a server began its answer; some content arrived. */
export type AttemptProgress = "begun" | "sent" | "accepted" | "answering";

/** Statuses of gateways that gave up waiting for a working model. */
const WAITED_IN_VAIN: ReadonlySet<number> = new Set([504, 524]);
/** Outcomes before any content for which no model has worked. */
const TURNED_AWAY: ReadonlySet<ModelErrorKind> = new Set([
  "rate_limited",
  "rejected",
  "unauthorized",
  "redirected",
  "context_length",
]);

/** Reasons for which no model has worked, whatever the kind. */
const NOT_BEGUN: ReadonlySet<FailureReason | undefined> = new Set(["loading", "overloaded"]);

/**
 * Whether a failed attempt is billed. Refusals are not, whatever their status: no model has worked, and providers do
 * not charge for their own errors (5xx). But a sent request that is cancelled, or times out, costs the model's work so
 * far, and so does a tool call that the model wrote and the server could not parse.
 */
export function isPaidFailure(
  failure: Pick<ModelError, "kind" | "status"> & Partial<Pick<ModelError, "reason" | "windowSource">>,
  progress: AttemptProgress,
): boolean {
  const { kind, status, reason } = failure;
  switch (progress) {
    case "begun":
      return false;
    case "sent":
      return status === undefined || WAITED_IN_VAIN.has(status) || reason === "tool_attempt_failed";
    case "accepted":
      // A server that has counted a prompt has read it.
      if (kind === "context_length" && failure.windowSource === "measured") return true;
      return !TURNED_AWAY.has(kind) && !NOT_BEGUN.has(reason);
    case "answering":
      return true;
  }
}

/** The kind of a failure without a known reason. */
function kindOf(status: number | undefined, text: RefusalText): ModelErrorKind {
  if (status === undefined) return kindInStream(text);
  if (status >= 300 && status < 400 && status !== 304) return "redirected";
  if (status === 413) return "context_length";
  if (status === 408 || status === 409 || status === 425 || status >= 500) return "unavailable";
  return "rejected";
}

/** Classifies an error object inside a stream by its code and type alone. */
function kindInStream(text: RefusalText): ModelErrorKind {
  const words = `${text.code} ${text.type}`;
  if (/rate_limit/.test(words)) return "rate_limited";
  if (/authentication|permission|invalid_api_key/.test(words)) return "unauthorized";
  if (/invalid_request|not_found|BadRequest/.test(words)) return "rejected";
  return "unavailable";
}

function refusalText(error: APIError, body: Partial<z.infer<typeof errorBody>>): RefusalText {
  return {
    message: error.message,
    code: body.code ?? error.code ?? "",
    type: body.type ?? error.type ?? "",
    contextSize: body.n_ctx ?? undefined,
  };
}

/** OpenRouter puts the status into the code, others into separate fields. */
function statusIn(...codes: readonly (string | null | undefined)[]): number | undefined {
  const status = codes.find((code) => /^[45]\d\d$/.test(code ?? ""));
  return status === undefined ? undefined : Number(status);
}

/** A protocol word, such as a code or a field's name, which may be shown and stored; "": not one word. */
export function plainWord(text: string): string {
  return /^[\w.[\]/-]{1,60}$/.test(text) ? text : "";
}

/** A server's message in short, without sentences, which may repeat people's words. */
function briefOf(status: number | undefined, { code, type }: RefusalText, param: string): string {
  // Many servers repeat the status as the code.
  const words = [type, code].map(plainWord).filter((word) => word !== "" && word !== String(status));
  const field = plainWord(param) === "" ? "" : `field ${param}`;
  const facts = [status === undefined ? "in its stream" : `HTTP ${status}`, ...words, field];
  return [...new Set(facts)].filter((fact) => fact !== "").join(", ");
}

/** The cause of `Connection error.`, which has the address and the reason. */
function connectionMessage(error: unknown): string {
  const parts: string[] = [];
  let current = error;
  for (let depth = 0; depth < 4 && current instanceof Error; depth++) {
    if (current.message !== "" && !parts.includes(current.message)) parts.push(current.message);
    current = current.cause;
  }
  return parts.join(": ") || errorMessage(error);
}
