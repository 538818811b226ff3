import { APIConnectionError, APIError } from "openai";
import { z } from "zod";

import { errorMessage } from "../../core/errors.ts";
import { sliceWhole } from "../../text/text.ts";
import { ModelError, type FailureReason, type ModelErrorKind, type ModelRequest } from "../model.ts";
import { reasonOf } from "./reasons.ts";
import { retryAfterMs } from "./retry-after.ts";
import { windowRefusal, type RefusalText } from "./window-refusal.ts";

/** Characters of a provider's text that a log line keeps: some answer with a whole HTML page. */
const MAX_MESSAGE = 1000;

const numberOrText = z.union([z.string(), z.number()]).transform(String);
const errorBody = z.object({
  message: z.string().nullish().catch(undefined),
  code: numberOrText.nullish().catch(undefined),
  type: z.string().nullish().catch(undefined),
  param: z.string().nullish().catch(undefined),
  // Gemini's has words, Groq's in a stream the number of HTTP.
  status: numberOrText.nullish().catch(undefined),
  status_code: numberOrText.nullish().catch(undefined),
  // Azure's.
  innererror: z.object({ code: z.string() }).nullish().catch(undefined),
  n_ctx: z.number().nullish().catch(undefined),
});

/**
 * The one place that classifies failed calls: by the table of reasons, else by status and type.
 * @param error what the client threw
 * @param request its model and its messages
 * @param now for a `Retry-After` that is a date
 * @param apiKey removed from the message, which goes to the log: some gateways repeat a refused key
 */
export function classifyFailure(
  error: unknown,
  { model, messages }: Pick<ModelRequest, "model" | "messages">,
  now: Date,
  apiKey?: string,
): ModelError {
  // First remove the key: a cut key is not found.
  const shown = (text: string): string => sliceWhole(withoutKey(text, apiKey), 0, MAX_MESSAGE);
  if (error instanceof ModelError) return error.withMessage(shown(error.message));
  const isAnswered = error instanceof APIError && !(error instanceof APIConnectionError);
  if (!isAnswered) {
    // Refused and reset connections, the raw TypeError of a destroyed socket, broken event-stream JSON.
    return new ModelError("unavailable", model, shown(connectionMessage(error)), { cause: error });
  }
  const body = errorBody.safeParse(error.error).data ?? {};
  const text = refusalText(error, body);
  // An error inside a stream has no status of its own.
  const status = error.status ?? statusIn(text.code, body.status_code, body.status);
  const sent = messages.map((message) => message.text);
  const refusal = windowRefusal(text, sent);
  const codes = [text.code, text.type, body.status ?? "", body.innererror?.code ?? ""];
  const verdict = reasonOf({ status, codes, message: text.message }, refusal !== undefined);
  const kind = verdict?.kind ?? kindOf(status, text);
  // The client puts the status before a message; ours has it.
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

/** Names of hosts are written small. */
function withoutKey(text: string, apiKey: string | undefined): string {
  if (apiKey === undefined) return text;
  return text.replaceAll(apiKey, "[key]").replaceAll(apiKey.toLowerCase(), "[key]");
}

/** How far an attempt came: its request was handed over whole; a server opened its answer; something of that came. */
export type AttemptProgress = "begun" | "sent" | "accepted" | "answering";

/** Statuses of gateways that have waited in vain for a model that was at work. */
const WAITED_IN_VAIN: ReadonlySet<number> = new Set([504, 524]);
/** Outcomes of a request that no model has worked on, where nothing of an answer came. */
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
 * Whether a failed attempt is billed. A refusal is not, whatever its status: no model has worked on it, and providers take nothing for
 * their own errors (5xx) either. But whoever ends a request that was sent, or waits for it in vain, pays for what the model had done by then,
 * and for a call of a tool that the model has written and the server could not read.
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

/** Of a failure for no known reason. */
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

/** OpenRouter puts the status into the code, others into fields of their own. */
function statusIn(...codes: readonly (string | null | undefined)[]): number | undefined {
  const status = codes.find((code) => /^[45]\d\d$/.test(code ?? ""));
  return status === undefined ? undefined : Number(status);
}

/** A protocol's word, such as a code or a field's name, which may be shown and kept; "": the text is none. */
export function plainWord(text: string): string {
  return /^[\w.[\]/-]{1,60}$/.test(text) ? text : "";
}

/** What a server has said in short, without its sentences: these may repeat what people wrote. */
function briefOf(status: number | undefined, { code, type }: RefusalText, param: string): string {
  // Many servers repeat the status as the code.
  const words = [type, code].map(plainWord).filter((word) => word !== "" && word !== String(status));
  const field = plainWord(param) === "" ? "" : `field ${param}`;
  const facts = [status === undefined ? "in its stream" : `HTTP ${status}`, ...words, field];
  return [...new Set(facts)].filter((fact) => fact !== "").join(", ");
}

/** `Connection error.` says nothing; the cause has the address and the reason. */
function connectionMessage(error: unknown): string {
  const parts: string[] = [];
  let current = error;
  for (let depth = 0; depth < 4 && current instanceof Error; depth++) {
    if (current.message !== "" && !parts.includes(current.message)) parts.push(current.message);
    current = current.cause;
  }
  return parts.join(": ") || errorMessage(error);
}
