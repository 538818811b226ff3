import type { ServerResponse } from "node:http";

import { ApiError, Arguments } from "./arguments.ts";
import { type Fault, type FaultScript, waitAsSlow } from "./faults.ts";
import type { CallEntry, Journal } from "./journal.ts";
import { chatMethods } from "./methods-chat.ts";
import { conversationMethods } from "./methods-conversations.ts";
import { fileMethods } from "./methods-files.ts";
import { peopleMethods } from "./methods-people.ts";
import { streamMethods } from "./methods-stream.ts";
import type { Method, MethodContext } from "./method.ts";
import type { JsonObject } from "./model.ts";

const METHODS: Readonly<Record<string, Method>> = {
  ...chatMethods,
  ...streamMethods,
  ...conversationMethods,
  ...peopleMethods,
  ...fileMethods,
};

/** Scopes by the type of a channel: `channels:history`, `groups:history`, … */
const SCOPE_PREFIXES = { channel: "channels", group: "groups", im: "im", mpim: "mpim" } as const;

export interface WebApiOptions {
  readonly botToken: string;
  readonly appToken: string;
  readonly scopes: readonly string[];
}

export interface ApiRequest {
  readonly method: string;
  readonly authorization: string | undefined;
  readonly contentType: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

/** The Web API: authorisation, faults, and the methods' answers. */
export class WebApi {
  readonly #context: MethodContext;
  readonly #journal: Journal;
  readonly #faults: FaultScript;
  readonly #options: WebApiOptions;
  readonly #stopping: AbortSignal;
  /** Times of the last minute's calls of the methods with a limit. */
  readonly #recent = new Map<string, number[]>();

  constructor(
    context: MethodContext,
    journal: Journal,
    faults: FaultScript,
    options: WebApiOptions,
    stopping: AbortSignal,
  ) {
    this.#context = context;
    this.#journal = journal;
    this.#faults = faults;
    this.#options = options;
    this.#stopping = stopping;
  }

  /** Serves one call. It may end without an answer: the client then hangs until it gives up or the server stops. */
  async serve(request: ApiRequest, response: ServerResponse): Promise<void> {
    let args = new Arguments({});
    try {
      args = Arguments.parse(request.body, request.contentType, request.query);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#answer(response, { ok: false, error: error.code }, undefined);
      return;
    }
    const { token: tokenInBody, ...fields } = args.fields;
    const token = request.authorization?.replace(/^Bearer /, "") ?? tokenInBody;
    const entry = this.#journal.add<CallEntry>({
      kind: "call",
      method: request.method,
      args: fields,
      token: typeof token === "string" ? token : undefined,
      outcome: "open",
      error: undefined,
      committed: false,
    });
    const fault = this.#faults.take(request.method, fields) ?? this.#overRate(request.method);
    await this.#play(entry, args, fault, response);
    this.#journal.changed();
  }

  async #play(
    entry: CallEntry,
    args: Arguments,
    fault: Fault | undefined,
    response: ServerResponse,
  ): Promise<void> {
    if (fault?.fault === "slow_before") await waitAsSlow(fault, this.#stopping);
    if (fault?.fault === "late") {
      entry.outcome = "reset";
      response.destroy();
      await waitAsSlow(fault, this.#stopping);
      this.#run(entry, args);
      return;
    }
    if (fault !== undefined && this.#failBefore(entry, fault, response)) return;
    const answer = this.#run(entry, args);
    if (fault?.fault === "slow_after") await waitAsSlow(fault, this.#stopping);
    if (fault?.fault === "hang_after") {
      entry.outcome = "hung";
      return;
    }
    if (fault?.fault === "reset_after") {
      entry.outcome = "reset";
      response.destroy();
      return;
    }
    entry.outcome = answer["ok"] === true ? "answered" : "refused";
    this.#answer(response, answer, METHODS[entry.method]?.scope);
  }

  #overRate(method: string): Fault | undefined {
    const { updatesPerMinute, streamsPerMinute, appendsPerMinute } = this.#context.limits;
    const limit = {
      "chat.update": updatesPerMinute,
      "chat.startStream": streamsPerMinute,
      "chat.stopStream": streamsPerMinute,
      "chat.appendStream": appendsPerMinute,
    }[method];
    if (limit === undefined) return undefined;
    const now = performance.now();
    const recent = (this.#recent.get(method) ?? []).filter((at) => now - at < 60_000);
    const [first = now] = recent;
    this.#recent.set(method, recent);
    if (recent.length >= limit)
      return { fault: "rate_limited", retryAfterS: Math.ceil((first + 60_000 - now) / 1000) };
    recent.push(now);
    return undefined;
  }

  /** Whether the call ends here without an effect. */
  #failBefore(entry: CallEntry, fault: Fault, response: ServerResponse): boolean {
    switch (fault.fault) {
      case "error": {
        entry.outcome = "refused";
        entry.error = fault.error;
        const { error, needed, provided } = fault;
        const details = {
          ...(needed === undefined ? {} : { needed }),
          ...(provided === undefined ? {} : { provided }),
        };
        this.#answer(response, { ok: false, error, ...details }, undefined);
        return true;
      }
      case "rate_limited":
        entry.outcome = "rate_limited";
        response.writeHead(429, {
          "content-type": "application/json",
          "retry-after": String(fault.retryAfterS),
        });
        response.end(JSON.stringify({ ok: false, error: "ratelimited" }));
        return true;
      case "status":
        entry.outcome = "status";
        response.writeHead(fault.status, { "content-type": "text/html" });
        response.end(fault.body ?? "<html>Something went wrong.</html>");
        return true;
      case "reset_before":
        entry.outcome = "reset";
        response.destroy();
        return true;
      case "hang_before":
        entry.outcome = "hung";
        return true;
      case "slow_before":
      case "slow_after":
      case "late":
      case "reset_after":
      case "hang_after":
        return false;
    }
  }

  #run(entry: CallEntry, args: Arguments): JsonObject {
    try {
      const method = METHODS[entry.method];
      if (method === undefined) throw new ApiError("unknown_method", { req_method: entry.method });
      this.#authorize(entry, method, args);
      const result = method.run(args, this.#context);
      entry.committed = true;
      return { ok: true, ...result };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      entry.error = error.code;
      return { ok: false, error: error.code, ...error.fields };
    }
  }

  /** @throws ApiError `not_authed`, `invalid_auth`, `not_allowed_token_type` or `missing_scope` */
  #authorize({ token }: CallEntry, method: Method, args: Arguments): void {
    const { botToken, appToken, scopes } = this.#options;
    if (token === undefined || token === "") throw new ApiError("not_authed");
    if (token !== botToken && token !== appToken) throw new ApiError("invalid_auth");
    if (token !== (method.token === "app" ? appToken : botToken))
      throw new ApiError("not_allowed_token_type");
    if (method.token === "app" || method.scope === undefined) return;
    const needed = this.#scopeOf(method.scope, args);
    if (!scopes.includes(needed)) throw new ApiError("missing_scope", { needed, provided: scopes.join(",") });
  }

  #scopeOf(scope: string, args: Arguments): string {
    const channel = this.#context.workspace.channels.get(args.text("channel") ?? "");
    return scope.replace("*", SCOPE_PREFIXES[channel?.type ?? "channel"]);
  }

  #answer(response: ServerResponse, body: JsonObject, accepted: string | undefined): void {
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "x-oauth-scopes": this.#options.scopes.join(","),
      ...(accepted === undefined ? {} : { "x-accepted-oauth-scopes": accepted.replace("*", "channels") }),
    });
    response.end(JSON.stringify(body));
  }
}
