import { webApi } from "@slack/bolt";
import type { Logger } from "pino";
import { z } from "zod";
import { errorCode } from "../../../core/errors.ts";
import { causesOf, proxyErrorIn } from "../../../network/use-proxies.ts";
import { redirectIn } from "../../../text/redirect.ts";
import { boltLogger } from "../connection/bolt-logger.ts";
import type { ChannelRenames } from "../channel-renames.ts";
import { kindOf } from "./api-errors.ts";
import { SlackError } from "./slack-error.ts";

export interface SlackApiOptions {
  readonly token: string;
  /** Null: Slack's own. */
  readonly apiUrl: string | null;
  readonly timeoutMs: number;
  readonly log: Logger;
  /** Default: Slack's ids are Weir's. */
  readonly renames?: ChannelRenames;
}

/** Options of each Web API client. Retries are off: a retried post would appear twice. */
export function clientOptions({ apiUrl, timeoutMs, log }: Omit<SlackApiOptions, "token">) {
  return {
    slackApiUrl: `${apiUrl ?? "https://slack.com/api"}/`,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: timeoutMs,
    logger: boltLogger(log),
    fetch: fetchWithoutRedirects,
  } satisfies webApi.WebClientOptions;
}

/** Replaces the client's own refusal of a redirect, which only reports a failed connection. */
const fetchWithoutRedirects: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "manual" });
  const url = input instanceof Request ? input.url : String(input);
  const redirect = redirectIn(url, response, "platforms.slack.api_url");
  if (redirect === undefined) return response;
  await response.body?.cancel();
  throw new SlackError("unavailable", redirect);
};

/** The Web API with one token. */
export class SlackApi {
  readonly #client: webApi.WebClient;
  readonly #renames: ChannelRenames | undefined;

  constructor(options: SlackApiOptions) {
    this.#renames = options.renames;
    this.#client = new webApi.WebClient(options.token, clientOptions(options));
  }

  /** Of a channel that is not found, another daemon may have heard another id. @throws SlackError */
  async #call(method: string, args: Record<string, unknown>): Promise<webApi.WebAPICallResult> {
    const renames = this.#renames;
    const { channel } = args;
    if (renames === undefined || typeof channel !== "string") return this.#ask(method, args);
    const id = renames.newestId(channel);
    try {
      return await this.#ask(method, { ...args, channel: id });
    } catch (error) {
      if (!(error instanceof SlackError) || error.code !== "channel_not_found") throw error;
      await renames.read().catch(() => undefined);
      if (renames.newestId(channel) === id) throw error;
      return await this.#ask(method, { ...args, channel: renames.newestId(channel) });
    }
  }

  async #ask(method: string, args: Record<string, unknown>): Promise<webApi.WebAPICallResult> {
    try {
      return await this.#client.apiCall(method, args);
    } catch (error) {
      throw toSlackError(method, error);
    }
  }

  /** @throws SlackError and nothing else */
  async call<Schema extends z.ZodType>(
    method: string,
    args: Record<string, unknown>,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    const answer = await this.#call(method, args);
    const result = schema.safeParse(
      this.#renames === undefined ? answer : withFirstIds(answer, this.#renames),
    );
    if (result.success) return result.data;
    throw new SlackError("unavailable", `Slack answered ${method} with something that cannot be read.`, {
      cause: result.error,
    });
  }
}

/** HTTP statuses of a request that would be refused again; Slack itself refuses by a code. */
const ABOUT_THE_REQUEST: ReadonlySet<number> = new Set([400, 413, 414, 422]);

/** The channels of an answer by Weir's ids. */
function withFirstIds(answer: webApi.WebAPICallResult, renames: ChannelRenames): unknown {
  const { channel, channels, ...rest } = { channel: undefined, channels: undefined, ...answer };
  const listed = channelList.safeParse(channels);
  return {
    ...rest,
    channel: typeof channel === "string" ? renames.firstId(channel) : channel,
    channels: listed.success ? listed.data.map((one) => ({ ...one, id: renames.firstId(one.id) })) : channels,
  };
}

const channelList = z.array(z.looseObject({ id: z.string() }));
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
  if (http.success) {
    const { statusCode } = http.data;
    const kind = ABOUT_THE_REQUEST.has(statusCode) ? "rejected" : "unavailable";
    return new SlackError(kind, `Slack answered ${method} with ${statusCode}`);
  }
  return new SlackError("unavailable", `Slack does not answer ${method}: ${reasonOf(error)}`);
}

/** The reason behind `fetch failed`, from its causes. */
function reasonOf(error: unknown): string {
  const proxy = proxyErrorIn(error);
  if (proxy !== null) return proxy.message;
  for (const one of causesOf(error)) {
    if (one.name === "TimeoutError") return "it took too long";
    const code = errorCode(one);
    if (code !== "" && !code.startsWith("slack_")) return code;
  }
  return "the connection failed";
}
