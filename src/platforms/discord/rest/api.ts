import { Readable } from "node:stream";
import { errorCode } from "../../../core/errors.ts";
import { proxyErrorIn } from "../../../network/use-proxies.ts";
import type { OutboundFile } from "../../../core/message.ts";
import { redirectIn } from "../../../text/redirect.ts";
import {
  DefaultRestOptions,
  DiscordAPIError,
  HTTPError,
  RateLimitError,
  type RateLimitData,
  REST,
  RequestMethod,
  type RouteLike,
} from "discord.js";
import type { z } from "zod";
import { PlatformError } from "../../platform.ts";
import type { DiscordTiming } from "../timing.ts";

export const PLATFORM_NAME = "discord";

interface ApiOptions {
  readonly token: string;
  /** Null: Discord's own. */
  readonly apiUrl: string | null;
  readonly timing: Pick<DiscordTiming, "callMs" | "longestWaitMs" | "callsPerSecond">;
  /** Number of daemons that share Discord's limit of the bot's calls. Default: one. */
  readonly members?: () => number;
}

const METHODS = {
  GET: RequestMethod.Get,
  POST: RequestMethod.Post,
  PUT: RequestMethod.Put,
  PATCH: RequestMethod.Patch,
  DELETE: RequestMethod.Delete,
} as const;

export interface Call {
  readonly method: keyof typeof METHODS;
  readonly route: RouteLike;
  readonly body?: unknown;
  /** Sent with the body, as a form. */
  readonly files?: readonly OutboundFile[];
  readonly query?: Readonly<Record<string, string>>;
  /** An interaction's token is in its path. */
  readonly isAnonymous?: boolean;
}

const UNKNOWN_MESSAGE = 10_008;

/** Discord refused a call, with an error code. */
export class DiscordRefusal extends PlatformError {
  /** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json; 0: no code. */
  readonly code: number;
  readonly status: number;

  /** @param editOf as of a {@link PlatformError} */
  constructor(status: number, code: number, cause: unknown, editOf?: string) {
    super(PLATFORM_NAME, kindOf(status, code), `Discord refused it: ${wordsOf(status, code)}`, {
      cause,
      isMessageGone: code === UNKNOWN_MESSAGE,
      editOf,
    });
    this.code = code;
    this.status = status;
  }

  /** The same of a message that a `send` has found. */
  ofEdit(messageId: string): DiscordRefusal {
    return new DiscordRefusal(this.status, this.code, this.cause, messageId);
  }
}

const UNKNOWN_CHANNEL = 10_003;

/** True: the channel was deleted. For an invisible channel Discord has another code. */
export function isDeletedChannel(error: unknown): boolean {
  return error instanceof DiscordRefusal && error.code === UNKNOWN_CHANNEL;
}

/** True: the operator has to set another token. */
export function isWrongToken(error: unknown): boolean {
  return error instanceof DiscordRefusal && error.status === 401;
}

const CANNOT_REPLY = 160_002;

/** True: the message replies to one that the bot may not read. Without the reference it may be sent. */
export function isReplyRefused(error: unknown): error is DiscordRefusal {
  return error instanceof DiscordRefusal && error.code === CANNOT_REPLY;
}

/**
 * Discord's REST API. The client's retries are off: they would duplicate a call whose answer was lost. Its
 * waits for rate limits are on, up to a bound. All calls throw PlatformError.
 */
export class DiscordApi implements Disposable {
  readonly #rest: REST;
  readonly #token: string;
  readonly #share: () => number;

  constructor({ token, apiUrl, timing, members = () => 1 }: ApiOptions) {
    this.#token = token;
    this.#share = () => timing.callsPerSecond / Math.max(1, members());
    this.#rest = new REST({
      version: "10",
      retries: 0,
      timeout: timing.callMs,
      globalRequestsPerSecond: timing.callsPerSecond,
      makeRequest: request,
      rejectOnRateLimit: (limit) => waitOf(limit) > timing.longestWaitMs,
      ...(apiUrl !== null && { api: apiUrl }),
    });
  }

  /** This daemon's limit of calls a second. */
  get callsPerSecond(): number {
    return Math.max(1, Math.floor(this.#share()));
  }

  async get<Schema extends z.ZodType>(
    route: RouteLike,
    schema: Schema,
    query: Readonly<Record<string, string>> = {},
  ): Promise<z.output<Schema>> {
    return parsed(schema, await this.call({ method: "GET", route, query }));
  }

  /** Like {@link get}; null: not found, or not accessible. @throws a retryable PlatformError */
  async find<Schema extends z.ZodType>(route: RouteLike, schema: Schema): Promise<z.output<Schema> | null> {
    try {
      return await this.get(route, schema);
    } catch (error) {
      if (error instanceof PlatformError && !error.retryable) return null;
      throw error;
    }
  }

  /** @returns the answer's body */
  async call({ method, route, body, files = [], query = {}, isAnonymous = false }: Call): Promise<unknown> {
    // After a 401 the client forgets the token.
    this.#rest.setToken(this.#token);
    // The client reads it again each second.
    this.#rest.options.globalRequestsPerSecond = this.callsPerSecond;
    try {
      return await this.#rest.request({
        method: METHODS[method],
        fullRoute: route,
        auth: !isAnonymous,
        query: new URLSearchParams(query),
        ...(body !== undefined && { body }),
        ...(files.length > 0 && {
          files: files.map(({ name, type, bytes }) => ({
            name,
            contentType: type,
            data: Buffer.from(bytes),
          })),
        }),
      });
    } catch (error) {
      throw toPlatformError(error);
    }
  }

  [Symbol.dispose](): void {
    this.#rest.clearHashSweeper();
    this.#rest.clearHandlerSweeper();
  }
}

/** The client does not follow a redirect, but would take it for a success: an unposted text would count as posted. */
const request: typeof DefaultRestOptions.makeRequest = async (url, init) => {
  const response = await DefaultRestOptions.makeRequest(url, await encoded(init));
  const { status, headers, body } = response;
  const location = headers.get("location");
  const answer = { status, headers: new Headers(location === null ? {} : { location }) };
  const redirect = redirectIn(url, answer, "platforms.discord.api_url");
  if (redirect === undefined) return response;
  if (body instanceof Readable) body.on("error", () => undefined).destroy();
  else await body?.cancel();
  throw unavailable(redirect);
};

type RequestInit = Parameters<typeof DefaultRestOptions.makeRequest>[1];

/**
 * A request whose files are bytes. The process's dispatcher may be of another version of undici, as Slack's client or a proxy brings it,
 * which takes no FormData but its own.
 */
async function encoded(init: RequestInit): Promise<RequestInit> {
  if (!(init.body instanceof FormData)) return init;
  const form = new Response(init.body);
  const type = form.headers.get("content-type") ?? "";
  const headers = Object.fromEntries([...Object.entries(init.headers ?? {}), ["content-type", type]]);
  return { ...init, body: new Uint8Array(await form.arrayBuffer()), headers };
}

/** @throws PlatformError if the body does not fit the schema */
export function parsed<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw unavailable("Discord answered with something unexpected", result.error);
}

function waitOf({ timeToReset, retryAfter }: Pick<RateLimitData, "timeToReset" | "retryAfter">): number {
  return Math.max(timeToReset, retryAfter);
}

/** Classifies a failed call. The client's message may contain what was sent: ours does not. Pure. */
export function toPlatformError(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  if (error instanceof DiscordAPIError)
    return new DiscordRefusal(error.status, typeof error.code === "number" ? error.code : 0, error);
  if (error instanceof RateLimitError)
    return unavailable("Discord's rate limit is reached", error, waitOf(error));
  if (error instanceof HTTPError) return unavailable(`Discord answered ${error.status}`, error);
  const proxy = proxyErrorIn(error);
  if (proxy !== null) return unavailable(`Discord could not be reached: ${proxy.message}`, error);
  if (error instanceof Error && error.name === "AbortError")
    return unavailable("Discord did not answer in time", error);
  const code = errorCode(error);
  return unavailable(`Discord could not be reached${code === "" ? "" : ` (${code})`}`, error);
}

/** An error that may pass. */
export function unavailable(message: string, cause?: unknown, retryAfterMs?: number): PlatformError {
  return new PlatformError(PLATFORM_NAME, "unavailable", message, { cause, retryAfterMs });
}

/** Codes of a place or message that is missing or not accessible. */
const GONE: ReadonlySet<number> = new Set([
  10_003,
  10_004,
  UNKNOWN_MESSAGE,
  50_001,
  50_007,
  50_013,
  50_024,
  50_083,
  160_005,
]);

function kindOf(status: number, code: number): PlatformError["kind"] {
  // A wrong token is the operator's problem: texts wait until it is fixed.
  if (status === 401 || status === 429 || status >= 500) return "unavailable";
  if (GONE.has(code)) return "gone";
  return code === 0 && (status === 403 || status === 404) ? "gone" : "rejected";
}

const WORDS: ReadonlyMap<number, string> = new Map([
  [10_003, "the channel is gone"],
  [10_004, "the server is gone"],
  [UNKNOWN_MESSAGE, "the message is gone"],
  [10_062, "the command was answered too late"],
  [40_060, "the command was answered already"],
  [50_001, "the bot may not see the channel"],
  [50_006, "the text is empty"],
  [50_007, "the person takes no messages from the bot"],
  [50_013, "the bot lacks a permission there"],
  [50_024, "the channel is a forum, or of another kind without messages of its own"],
  [50_027, "the command was asked too long ago"],
  [50_035, "a part of it is not allowed"],
  [50_083, "the thread is archived"],
  [CANNOT_REPLY, "the bot lacks Read Message History there"],
  [160_005, "the thread is locked"],
]);

function wordsOf(status: number, code: number): string {
  const words = WORDS.get(code) ?? (status === 401 ? "it does not know the token" : null);
  return [words, `HTTP ${status}`, code === 0 ? null : `code ${code}`].filter(Boolean).join(", ");
}
