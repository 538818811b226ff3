import { webApi } from "@slack/bolt";
import type { Logger } from "pino";
import { z } from "zod";
import { proxyErrorIn } from "../../../network/use-proxies.ts";
import { redirectIn } from "../../../text/redirect.ts";
import { boltLogger } from "../connection/bolt-logger.ts";
import { kindOf } from "./api-errors.ts";
import { SlackError } from "./slack-error.ts";

export interface SlackApiOptions {
  readonly token: string;
  /** Null: Slack's own. */
  readonly apiUrl: string | null;
  /** Timeout of a call, ms. */
  readonly timeoutMs: number;
  readonly log: Logger;
}

/** Options of each Web API client. Retries are off: a retried post would appear twice. */
export function clientOptions({ apiUrl, timeoutMs, log }: Omit<SlackApiOptions, "token">): {
  slackApiUrl: string;
  retryConfig: { retries: number };
  rejectRateLimitedCalls: boolean;
  timeout: number;
  logger: ReturnType<typeof boltLogger>;
  fetch: typeof fetch;
} {
  return {
    slackApiUrl: `${apiUrl ?? "https://slack.com/api"}/`,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: timeoutMs,
    logger: boltLogger(log),
    fetch: fetchWithoutRedirects,
  };
}

/** Replaces the client's own refusal of a redirect, which only reports a failed connection. */
const fetchWithoutRedirects: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "manual" });
  const url = input instanceof Request ? input.url : String(input);
  const redirect = redirectIn(url, response, "platforms.slack.api_url");
  if (redirect === undefined) return response;
  await response.body?.cancel();
  throw new SlackError("unavailable", redirect, {});
};

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

/** Classifies an error of a Slack client. Drops the error's own message: it may be a page of HTML. */
export function toSlackError(method: string, error: unknown): SlackError {
  const own = causesOf(error).find((one) => one instanceof SlackError);
  if (own !== undefined) return own;
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

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let one: unknown = error; one instanceof Error; one = "original" in one ? one.original : one.cause)
    causes.push(one);
  return causes;
}

const withCode = z.object({ code: z.string() });

/** The reason behind `fetch failed`, from its causes. */
function reasonOf(error: unknown): string {
  const proxy = proxyErrorIn(error);
  if (proxy !== null) return proxy.message;
  for (const one of causesOf(error)) {
    if (one.name === "TimeoutError") return "it took too long";
    const coded = withCode.safeParse(one);
    if (coded.success && !coded.data.code.startsWith("slack_")) return coded.data.code;
  }
  return "the connection failed";
}
