import { APIConnectionError, APIError } from "openai";
import { z } from "zod";

import { errorMessage } from "../../core/errors.ts";
import { sliceWhole } from "../../text/text.ts";
import { ModelError } from "../model.ts";
import type { ModelErrorKind, ModelRequest } from "../model.ts";
import { retryAfterMs } from "./retry-after.ts";
import { windowRefusal } from "./window-refusal.ts";
import type { RefusalText } from "./window-refusal.ts";

/** Characters of a provider's text that a log line keeps: some answer with a whole HTML page. */
const MAX_MESSAGE = 1000;

const numberOrText = z.union([z.string(), z.number()]).transform(String);
const errorBody = z.object({
  message: z.string().nullish().catch(undefined),
  code: numberOrText.nullish().catch(undefined),
  type: z.string().nullish().catch(undefined),
  n_ctx: z.number().nullish().catch(undefined),
});

/**
 * The one place that classifies failed calls: by status and code, and by words only if servers have no common
 * code (the window).
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
  const text = refusalText(error);
  // An error inside a stream has no status; OpenRouter puts the status into the code.
  const status = error.status ?? statusIn(text.code);
  const sent = messages.map((message) => message.text);
  const refusal = windowRefusal(text, sent);
  const kind = kindOf(status, text, refusal !== undefined);
  // The client puts the status before a message; ours has it.
  const message = kind === "redirected" ? error.message.replace(/^\d+ /, "") : error.message;
  return new ModelError(kind, model, shown(message), {
    cause: error,
    status,
    retryAfterMs:
      kind === "rate_limited" || kind === "unavailable" ? retryAfterMs(error.headers, now) : undefined,
    window: kind === "context_length" ? refusal?.window : undefined,
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

/**
 * Whether a failed attempt is billed. A refusal is not, whatever its status: no model has worked on it, and providers take nothing for
 * their own errors (5xx) either. But whoever ends a request that was sent, or waits for it in vain, pays for what the model had done by then.
 */
export function isPaidFailure(
  { kind, status }: Pick<ModelError, "kind" | "status">,
  progress: AttemptProgress,
): boolean {
  switch (progress) {
    case "begun":
      return false;
    case "sent":
      return status === undefined || WAITED_IN_VAIN.has(status);
    case "accepted":
      return !TURNED_AWAY.has(kind);
    case "answering":
      return true;
  }
}

function kindOf(status: number | undefined, text: RefusalText, isTooLong: boolean): ModelErrorKind {
  if (isTooLong && status !== 401 && status !== 403) return "context_length";
  if (status === undefined) return kindInStream(text);
  if (status >= 300 && status < 400 && status !== 304) return "redirected";
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 413) return "context_length";
  // An empty account also gets 429, but no wait helps.
  if (status === 429) return isQuota(text) ? "rejected" : "rate_limited";
  if (status === 408 || status === 409 || status === 425 || status >= 500) return "unavailable";
  return "rejected";
}

/** Classifies an error object inside a stream by its code and type alone. */
function kindInStream(text: RefusalText): ModelErrorKind {
  const words = `${text.code} ${text.type}`;
  if (isQuota(text)) return "rejected";
  if (/rate_limit/.test(words)) return "rate_limited";
  if (/authentication|permission|invalid_api_key/.test(words)) return "unauthorized";
  if (/invalid_request|not_found|BadRequest/.test(words)) return "rejected";
  return "unavailable";
}

function isQuota({ code, type }: RefusalText): boolean {
  return code === "insufficient_quota" || type === "insufficient_quota";
}

function refusalText(error: APIError): RefusalText {
  const body = errorBody.safeParse(error.error).data;
  return {
    message: error.message,
    code: body?.code ?? error.code ?? "",
    type: body?.type ?? error.type ?? "",
    contextSize: body?.n_ctx ?? undefined,
  };
}

function statusIn(code: string): number | undefined {
  return /^[45]\d\d$/.test(code) ? Number(code) : undefined;
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
