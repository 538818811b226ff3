import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import type { Fault, Faults, When } from "../faults.ts";
import type { Journal, RestEntry } from "../journal.ts";
import type { State } from "../state.ts";
import { ApiError, notFound, unauthorized } from "./api-error.ts";
import { Buckets, seconds } from "./buckets.ts";
import { commandRoutes } from "./command-routes.ts";
import { interactionRoutes } from "./interaction-routes.ts";
import { messageRoutes } from "./message-routes.ts";
import { placeRoutes } from "./place-routes.ts";
import { readRequestBody, type RequestBody } from "./request-body.ts";
import { fit, type RestAnswer, type Route } from "./route.ts";

const ROUTES: readonly Route[] = [...placeRoutes, ...messageRoutes, ...commandRoutes, ...interactionRoutes];
const BASE = /^\/api(\/v10)?(?=\/)/;

/** The answer of Discord's proxy for a failed server: no JSON. */
const PROXY_ERROR =
  "<html><head><title>error</title></head><body>The service is not available.</body></html>";

/** One request in the pipeline. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly path: string;
  readonly route: Route | null;
  readonly params: ReadonlyMap<string, string>;
  readonly entry: RestEntry;
  readonly content: RequestBody;
  readonly fault: Fault | null;
}

/**
 * REST v10 below `/api`. In order: a fault before the commit, the token, the bucket, the handler (the commit), a fault
 * after it, the answer.
 */
export class RestApi {
  readonly buckets = new Buckets();
  readonly #state: State;
  readonly #faults: Faults;
  readonly #journal: Journal;

  constructor(state: State, faults: Faults, journal: Journal) {
    this.#state = state;
    this.#faults = faults;
    this.#journal = journal;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = await this.#begin(request, response);
    if (await this.#suffer(exchange, "before")) return;
    const { headers, ...answer } = this.#answer(exchange);
    exchange.entry.isCommitted = answer.status < 300;
    if (await this.#suffer(exchange, "after")) return;
    this.#respond(exchange, answer, headers);
  }

  async #begin(request: IncomingMessage, response: ServerResponse): Promise<Exchange> {
    const content = await readRequestBody(request);
    const url = new URL(request.url ?? "/", this.#state.origin);
    const path = url.pathname.replace(BASE, "");
    const method = request.method ?? "GET";
    const { route, params } = findRoute(method, path);
    const fault = this.#faults.take(method, route?.pattern ?? path);
    const entry: RestEntry = {
      method,
      path: `${path}${url.search}`,
      route: route?.pattern ?? path,
      body: content.body,
      at: performance.now(),
      status: null,
      isCommitted: false,
      fault: fault?.kind ?? null,
    };
    this.#journal.rest.push(entry);
    return { request, response, url, path, route, params, entry, content, fault };
  }

  #answer(exchange: Exchange): RestAnswer & { headers: Record<string, string> } {
    const { route, params, url, content, entry } = exchange;
    let headers: Record<string, string> = {};
    try {
      if (route === null) throw notFound();
      const isAuthorized = exchange.request.headers.authorization === `Bot ${this.#state.options.token}`;
      if (route.needsNoToken !== true && !isAuthorized) throw unauthorized();
      const major = params.get("channel") ?? params.get("guild") ?? params.get("token") ?? "";
      const allowance = this.buckets.take(entry.method, route.pattern, major);
      headers = allowance.headers;
      if (!allowance.isAllowed) return limited(allowance.resetAfterMs, false, headers);
      const call = {
        state: this.#state,
        params,
        query: url.searchParams,
        body: content.body,
        uploads: content.uploads,
      };
      return { ...route.handle(call), headers };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { status: error.status, body: error.body, headers };
    }
  }

  /** Runs the fault if this is its time. @returns whether no answer follows */
  async #suffer(exchange: Exchange, when: When): Promise<boolean> {
    const { fault, response } = exchange;
    if (fault === null || (("when" in fault ? fault.when : undefined) ?? "before") !== when) return false;
    switch (fault.kind) {
      case "delay":
        await sleep(fault.ms, undefined, { ref: false });
        return false;
      case "hang":
        return true;
      case "reset":
        response.socket?.resetAndDestroy();
        return true;
      case "close":
        response.socket?.destroy();
        return true;
      case "rate-limit": {
        const { headers, ...answer } = limited(fault.retryAfterMs, fault.isGlobal === true, {});
        this.#respond(exchange, answer, headers);
        return true;
      }
      case "status": {
        const body = fault.body ?? (fault.status >= 500 ? PROXY_ERROR : { message: "Refused", code: 0 });
        this.#respond(exchange, { status: fault.status, body }, {});
        return true;
      }
    }
  }

  #respond({ entry, response }: Exchange, answer: RestAnswer, headers: Record<string, string>): void {
    entry.status = answer.status;
    const isText = typeof answer.body === "string";
    const type = isText ? "text/html" : "application/json";
    response.writeHead(answer.status, {
      ...headers,
      ...(answer.body === undefined ? {} : { "content-type": type }),
    });
    response.end(isText ? answer.body : answer.body === undefined ? undefined : JSON.stringify(answer.body));
  }
}

/** Literal parts precede parameters, as in the table. */
function findRoute(
  method: string,
  path: string,
): { route: Route | null; params: ReadonlyMap<string, string> } {
  for (const route of ROUTES) {
    const params = route.method === method ? fit(route.pattern, path) : null;
    if (params !== null) return { route, params };
  }
  return { route: null, params: new Map() };
}

function limited(
  retryAfterMs: number,
  isGlobal: boolean,
  bucket: Record<string, string>,
): RestAnswer & { headers: Record<string, string> } {
  const retryAfter = seconds(retryAfterMs);
  const own: Record<string, string> = isGlobal
    ? { "x-ratelimit-global": "true", "x-ratelimit-scope": "global" }
    : { "x-ratelimit-scope": "user" };
  return {
    status: 429,
    body: { message: "You are being rate limited.", retry_after: Number(retryAfter), global: isGlobal },
    headers: { ...bucket, "retry-after": retryAfter, ...own },
  };
}
