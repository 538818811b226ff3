/**
 * A small Slack on loopback for tests: the Web API, Socket Mode and HTTP mode for the real, unmodified Bolt, scripted
 * faults, a journal of all traffic, and people who talk.
 *
 *     await using slack = await startSlackServer();
 *     const ada = slack.world.addUser("ada");
 *     const channel = slack.world.addChannel({ name: "general", members: [ada] });
 *     // … the app connects to slack.apiUrl …
 *     slack.faults.next({ method: "chat.postMessage", fault: "reset_after" });
 *     slack.world.say(ada, channel, "hello");
 *     slack.messages(channel)
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";

import { type Carrier, EventDeliveries } from "./deliveries.ts";
import { Downloads } from "./downloads.ts";
import { EventFeed } from "./events.ts";
import { FaultScript } from "./faults.ts";
import { Interactions } from "./interactions.ts";
import { Journal } from "./journal.ts";
import type { ApiLimits, MethodContext } from "./method.ts";
import { type SlackChannel, type SlackMessage, Workspace } from "./model.ts";
import { RequestUrl } from "./request-url.ts";
import { SocketHub } from "./socket-hub.ts";
import { WebApi } from "./web-api.ts";
import { SlackWorld } from "./world.ts";

const ALL_SCOPES = [
  "app_mentions:read",
  "assistant:write",
  "channels:history",
  "channels:read",
  "chat:write",
  "commands",
  "emoji:read",
  "files:read",
  "files:write",
  "groups:history",
  "groups:read",
  "im:history",
  "im:read",
  "im:write",
  "mpim:history",
  "mpim:read",
  "reactions:read",
  "reactions:write",
  "team:read",
  "usergroups:read",
  "users:read",
] as const;

const LIMITS: ApiLimits = {
  postLength: 40_000,
  updateLength: 4_000,
  markdownLength: 12_000,
  pageSize: 999,
  oldestPageFirst: true,
  updatesPerMinute: Infinity,
  streamsPerMinute: Infinity,
  appendsPerMinute: Infinity,
  givesMetadata: true,
  shownFrom: 0,
};

export interface SlackServerOptions {
  /** Scopes of the bot's token. Default: all that the methods here need. */
  readonly scopes?: readonly string[];
  /** The app's subscriptions, such as `message.channels`. Default: all. */
  readonly subscriptions?: readonly string[];
  /** Time limit of an acknowledgement, ms. Default: Slack's 3,000. */
  readonly ackTimeoutMs?: number;
  /** Delay before each further attempt, ms. Default: at once, a minute, five minutes, as at Slack. */
  readonly retryDelaysMs?: readonly number[];
  /** Between two pings on a socket, ms. Default: 10,000. */
  readonly pingIntervalMs?: number;
  /** Default: Slack's 10. */
  readonly maxSockets?: number;
  readonly limits?: Partial<ApiLimits>;
  /** ms since the epoch. Default: the clock. */
  readonly now?: () => number;
  /** Default: a free one. */
  readonly port?: number;
}

export interface Ephemeral {
  readonly channel: string;
  readonly user: string;
  readonly ts: string;
  readonly text: string;
  readonly blocks: unknown;
}

export interface SlackServer extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** For the client's `slackApiUrl`. */
  readonly apiUrl: string;
  readonly botToken: string;
  readonly appToken: string;
  readonly signingSecret: string;
  readonly workspace: Workspace;
  readonly world: SlackWorld;
  readonly faults: FaultScript;
  readonly journal: Journal;
  readonly sockets: SocketHub;
  /** HTTP mode: once `requestUrl.url` is set. */
  readonly requestUrl: RequestUrl;
  /** Holds, delays, doubles and drops events. */
  readonly deliveries: EventDeliveries;
  /** All events sent to the app, and a way to send any. */
  readonly feed: EventFeed;
  readonly ephemerals: readonly Ephemeral[];
  /** The assistant's status lines by `channel/thread_ts`. */
  readonly statuses: ReadonlyMap<string, string>;
  /** What people see in a channel, or (root first) in a thread of it; oldest first. */
  messages(channel: SlackChannel, threadTs?: string): readonly SlackMessage[];
}

/** The options of an app that reaches a server by Socket Mode. */
export function accessTo({ botToken, appToken, apiUrl }: SlackServer): {
  readonly botToken: string;
  readonly intake: { readonly mode: "socket"; readonly appToken: string };
  readonly apiUrl: string;
} {
  return { botToken, intake: { mode: "socket", appToken }, apiUrl: apiUrl.replace(/\/$/, "") };
}

/** Starts the server on 127.0.0.1. It runs inside the test's process. */
export async function startSlackServer(options: SlackServerOptions = {}): Promise<SlackServer> {
  const server = createServer();
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const origin = `http://127.0.0.1:${address.port}`;
  const parts = new SlackParts(origin, options);
  server.on("request", (request, response) => void parts.serve(request, response));
  server.on("upgrade", (request, stream, head) => parts.sockets.upgrade(request, stream, head));
  return Object.assign(parts, {
    port: address.port,
    apiUrl: `${origin}/api/`,
    [Symbol.asyncDispose]: async () => stop(parts, server),
  });
}

async function stop(parts: SlackParts, server: Server): Promise<void> {
  parts.stopping.abort();
  await parts.sockets[Symbol.asyncDispose]();
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

class SlackParts {
  readonly origin: string;
  readonly botToken = "xoxb-1-1-test";
  readonly appToken = "xapp-1-A0WEIRAPP01-1-test";
  readonly signingSecret = "0123456789abcdef0123456789abcdef";
  readonly stopping = new AbortController();
  readonly journal = new Journal();
  readonly faults = new FaultScript();
  readonly ephemerals: Ephemeral[] = [];
  readonly statuses = new Map<string, string>();
  readonly workspace: Workspace;
  readonly sockets: SocketHub;
  readonly requestUrl: RequestUrl;
  readonly deliveries: EventDeliveries;
  readonly feed: EventFeed;
  readonly world: SlackWorld;
  readonly #interactions: Interactions;
  readonly #webApi: WebApi;
  readonly #downloads: Downloads;

  constructor(origin: string, options: SlackServerOptions) {
    const { journal, faults } = this;
    const { signal } = this.stopping;
    const now = options.now ?? Date.now;
    const ackTimeoutMs = options.ackTimeoutMs ?? 3_000;
    this.origin = origin;
    this.workspace = new Workspace(now);
    this.sockets = new SocketHub(journal, {
      appId: this.workspace.appId,
      ackTimeoutMs,
      pingIntervalMs: options.pingIntervalMs ?? 10_000,
      maxSockets: options.maxSockets ?? 10,
    });
    this.requestUrl = new RequestUrl(journal, { signingSecret: this.signingSecret, ackTimeoutMs, now });
    const carrier: Carrier = {
      carry: async (parcel) =>
        this.requestUrl.url === undefined ? this.sockets.carry(parcel) : this.requestUrl.carry(parcel),
    };
    const retryDelaysMs = options.retryDelaysMs ?? [0, 60_000, 300_000];
    this.deliveries = new EventDeliveries(carrier, journal, retryDelaysMs, signal);
    this.feed = new EventFeed(this.workspace, this.deliveries, options.subscriptions, origin);
    this.#interactions = new Interactions(this.workspace, this.feed, carrier, journal, origin);
    this.world = new SlackWorld(this.workspace, this.feed, this.#interactions, journal);
    const context = this.#methodContext({ ...LIMITS, ...options.limits });
    const { botToken, appToken } = this;
    const scopes = options.scopes ?? ALL_SCOPES;
    this.#webApi = new WebApi(context, journal, faults, { botToken, appToken, scopes }, signal);
    this.#downloads = new Downloads(this.workspace, journal, faults, botToken, signal);
  }

  messages(channel: SlackChannel, threadTs?: string): readonly SlackMessage[] {
    if (threadTs === undefined) return this.workspace.topLevel(channel.id);
    return channel.messages.filter((message) => message.ts === threadTs || message.threadTs === threadTs);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that resets its socket while we write is part of the tests, never a failure of the server.
    response.on("error", () => undefined);
    const body = await readText(request).catch(() => undefined);
    if (body === undefined) return;
    try {
      await this.#route(request, response, body);
    } catch (error) {
      response.destroy();
      if (!this.stopping.signal.aborted) throw error;
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.origin);
    const { authorization } = request.headers;
    if (pathname.startsWith("/api/")) {
      const method = pathname.slice("/api/".length);
      const contentType = request.headers["content-type"] ?? "";
      await this.#webApi.serve({ method, authorization, contentType, query: searchParams, body }, response);
      return;
    }
    if (pathname.startsWith("/files-pri/")) {
      await this.#downloads.serve({ path: pathname, authorization, response });
      return;
    }
    if (pathname.startsWith("/upload/v1/")) {
      const upload = this.workspace.uploads.get(pathname.slice("/upload/v1/".length));
      const content = Buffer.from(body);
      const isWhole = upload?.length === content.length;
      if (upload !== undefined && isWhole) upload.content = content;
      response.writeHead(isWhole ? 200 : 400).end(isWhole ? `OK - ${content.length}` : "Bad");
      return;
    }
    if (pathname === "/signin") {
      response.writeHead(200, { "content-type": "text/html" }).end("<html>Sign in to Slack</html>");
      return;
    }
    const answer = this.#interactions.respond(pathname, body, this.faults.take("response_url", {}));
    response.writeHead(answer.status).end(answer.body);
  }

  #methodContext(limits: ApiLimits): MethodContext {
    return {
      workspace: this.workspace,
      feed: this.feed,
      origin: this.origin,
      limits,
      openConnection: () => {
        const ticket = this.sockets.issueTicket();
        return `${this.origin.replace("http", "ws")}/link/?ticket=${ticket}&app_id=${this.workspace.appId}`;
      },
      addEphemeral: (channel, user, text, blocks) => {
        const ts = this.workspace.channel(channel).timestamps.next();
        this.ephemerals.push({ channel, user, ts, text, blocks });
        return ts;
      },
      openView: (trigger, view) => this.#interactions.openView(trigger, view),
      setStatus: (channel, threadTs, status) => {
        this.statuses.set(`${channel}/${threadTs}`, status);
      },
    };
  }
}
