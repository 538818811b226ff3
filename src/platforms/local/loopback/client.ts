import { jsonOf } from "../../../core/json.ts";
import type { z } from "zod";
import { errorCode, errorMessage } from "../../../core/errors.ts";
import { redirectIn } from "../../../text/redirect.ts";
import { PlatformError } from "../../platform.ts";

export const PLATFORM_NAME = "loopback";

interface Call {
  readonly method: "GET" | "POST" | "PATCH";
  /** Begins with a slash; its parts are encoded. */
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Speaks HTTP to the loopback service, and classifies failures by status. */
export class LoopbackClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url.replace(/(?<!\/)\/+$/, "");
  }

  /** @throws PlatformError and nothing else */
  async call<Schema extends z.ZodType>(call: Call, schema: Schema): Promise<z.output<Schema>> {
    const text = await this.#fetch(call);
    const result = schema.safeParse(jsonOf(text));
    if (result.success) return result.data;
    const why = "answered something that is no answer of a loopback service";
    throw unavailable(`${this.#url} ${why}`, result.error);
  }

  async #fetch(call: Call): Promise<string> {
    const timeout = AbortSignal.timeout(call.timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#url}${call.path}`, {
        method: call.method,
        headers: headersOf(call),
        body: call.body === undefined ? null : JSON.stringify(call.body),
        redirect: "manual",
        signal: call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal]),
      });
      text = await response.text();
    } catch (error) {
      const why = timeout.aborted ? `no answer within ${call.timeoutMs / 1000} s` : causeOf(error);
      throw unavailable(`${this.#url} does not answer: ${why}`, error);
    }
    if (response.ok) return text;
    const redirect = redirectIn(this.#url, response, "platforms.loopback.url");
    // The text waits until the address is corrected.
    if (redirect !== undefined) throw unavailable(redirect);
    throw refused(response, text);
  }
}

function headersOf(call: Call): Record<string, string> {
  const headers: Record<string, string> = {};
  if (call.body !== undefined) headers["content-type"] = "application/json";
  // A header holds printable ASCII only.
  if (call.idempotencyKey !== undefined) {
    headers["idempotency-key"] = call.idempotencyKey
      .toWellFormed()
      .replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
  }
  return headers;
}

function unavailable(message: string, cause?: unknown): PlatformError {
  return new PlatformError(PLATFORM_NAME, "unavailable", message, { cause });
}

function refused(response: Response, text: string): PlatformError {
  const { status } = response;
  const retryAfterMs = retryAfter(response.headers.get("retry-after"));
  const message = `the loopback service refused (${status}): ${text.slice(0, 200)}`;
  return new PlatformError(PLATFORM_NAME, kindOf(status), message, { retryAfterMs });
}

function kindOf(status: number): PlatformError["kind"] {
  if (status === 404 || status === 410) return "gone";
  if (status === 408 || status === 425 || status === 429 || status >= 500) return "unavailable";
  return "rejected";
}

/** Seconds, or a date, as RFC 9110 §10.2.3 has it; fractions of seconds too. */
function retryAfter(header: string | null): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  const seconds = Number(header);
  const milliseconds = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : undefined;
}

/** The message `fetch failed` has the reason in its cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = errorCode(cause);
  return code === "" ? errorMessage(cause) : `${errorMessage(cause)} (${code})`;
}
