import { webApi } from "@slack/bolt";
import type { Logger } from "pino";
import { z } from "zod";
import { PlatformError } from "../../platform.ts";
import { PLATFORM_NAME } from "../address.ts";
import { boltLogger } from "../connection/bolt-logger.ts";
import { kindOf } from "./api-errors.ts";

export interface SlackApiOptions {
  readonly token: string;
  /** Null: Slack's own. */
  readonly apiUrl: string | null;
  /** After which a call without an answer has failed, ms. */
  readonly timeoutMs: number;
  readonly log: Logger;
}

/** A call of the Web API that failed. */
export class SlackError extends PlatformError {
  /** Slack's word for it, `channel_not_found`; null: there was no answer that could be read. */
  readonly code: string | null;
  /** The scope that is missing, where that is why. */
  readonly needed: string | null;

  constructor(
    kind: PlatformError["kind"],
    message: string,
    details: { code?: string; needed?: string | undefined; retryAfterMs?: number; cause?: unknown },
  ) {
    const { code, needed, ...options } = details;
    super(PLATFORM_NAME, kind, message, { ...options, isMessageGone: code === "message_not_found" });
    this.code = code ?? null;
    this.needed = needed ?? null;
  }
}

/** Options of each Web API client: nothing is retried behind our back, since a post that is retried stands there twice. */
export function clientOptions({ apiUrl, timeoutMs, log }: Omit<SlackApiOptions, "token">): {
  slackApiUrl: string;
  retryConfig: { retries: number };
  rejectRateLimitedCalls: boolean;
  timeout: number;
  logger: ReturnType<typeof boltLogger>;
} {
  return {
    slackApiUrl: `${apiUrl ?? "https://slack.com/api"}/`,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: timeoutMs,
    logger: boltLogger(log),
  };
}

/** The Web API with one token. */
export class SlackApi {
  readonly #client: webApi.WebClient;

  constructor(options: SlackApiOptions) {
    this.#client = new webApi.WebClient(options.token, clientOptions(options));
  }

  /** @throws SlackError and nothing else */
  async call<Schema extends z.ZodType>(
    method: string,
    args: Record<string, unknown>,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    let answer: unknown;
    try {
      answer = await this.#client.apiCall(method, args);
    } catch (error) {
      throw toSlackError(method, error);
    }
    const result = schema.safeParse(answer);
    if (result.success) return result.data;
    throw new SlackError("unavailable", `Slack answered ${method} with something that cannot be read.`, {
      cause: result.error,
    });
  }
}

const refusal = z.object({ data: z.object({ error: z.string(), needed: z.string().optional() }) });
const rateLimited = z.object({ code: z.literal("slack_webapi_rate_limited_error"), retryAfter: z.number() });
const httpError = z.object({ code: z.literal("slack_webapi_http_error"), statusCode: z.number() });

/** Classifies, once, what a client of Slack's throws. Its own message may hold a page of HTML: it goes nowhere. */
export function toSlackError(method: string, error: unknown): SlackError {
  const refused = refusal.safeParse(error);
  if (refused.success) {
    const { error: code, needed } = refused.data.data;
    const scope = needed === undefined ? "" : `, it needs the scope ${needed}`;
    return new SlackError(kindOf(code), `Slack refused ${method}: ${code}${scope}`, { code, needed });
  }
  const limited = rateLimited.safeParse(error);
  if (limited.success) {
    const retryAfterMs = Math.min(limited.data.retryAfter, 600) * 1000;
    return new SlackError("unavailable", `Slack limits the rate of ${method}`, {
      code: "ratelimited",
      retryAfterMs,
    });
  }
  const http = httpError.safeParse(error);
  if (http.success)
    return new SlackError("unavailable", `Slack answered ${method} with ${http.data.statusCode}`, {});
  return new SlackError("unavailable", `Slack does not answer ${method}: ${reasonOf(error)}`, {});
}

const withCode = z.object({ code: z.string() });

/** `fetch failed` says nothing: what failed is in the causes. */
function reasonOf(error: unknown): string {
  for (let one: unknown = error; one instanceof Error; one = "original" in one ? one.original : one.cause) {
    if (one.name === "TimeoutError") return "it took too long";
    const coded = withCode.safeParse(one);
    if (coded.success && !coded.data.code.startsWith("slack_")) return coded.data.code;
  }
  return "the connection failed";
}
