import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { errorMessage, OperatorError } from "../../../core/errors.ts";
import { botRoutes } from "./bot-routes.ts";
import { LoopbackChat } from "./chat.ts";
import { FaultScript } from "./faults.ts";
import { hostsOf, localOnly, nameInUrl } from "../local-only.ts";
import { peopleRoutes } from "./people-routes.ts";
import { MAX_BODY_BYTES } from "./protocol.ts";

export interface LoopbackServerOptions {
  /** Default: 0, a free one. */
  readonly port?: number;
  /** Default: 127.0.0.1. Every program that reaches the service may do everything, so it is for one machine. */
  readonly host?: string;
  readonly now?: () => Date;
}

export interface LoopbackServer extends AsyncDisposable {
  /** `http://127.0.0.1:4321`, without a slash at its end. */
  readonly url: string;
}

/**
 * Starts a chat service for tests and scripts: HTTP, in memory, one machine. Like the servers of a real platform it outlives
 * the daemon, so it is best run in a process of its own.
 * @throws OperatorError if it can't listen there
 */
export async function startLoopbackServer(options: LoopbackServerOptions = {}): Promise<LoopbackServer> {
  const { port = 0, host = "127.0.0.1" } = options;
  const shutdown = new AbortController();
  let hosts: readonly string[] = [];
  const app = createApp(new LoopbackChat(options.now ?? (() => new Date())), () => hosts, shutdown.signal);
  const server = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => {
      reject(
        new OperatorError(`The loopback service can't listen on ${host}:${port}: ${error.message}`, {
          cause: error,
        }),
      );
    });
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const taken = isInfo(address) ? address.port : port;
  hosts = hostsOf(host, taken);
  return {
    url: `http://${nameInUrl(host)}:${taken}`,
    [Symbol.asyncDispose]: async () => {
      shutdown.abort();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      });
    },
  };
}

function createApp(chat: LoopbackChat, hosts: () => readonly string[], shutdown: AbortSignal): Hono {
  const faults = new FaultScript();
  const app = new Hono();
  app.use(localOnly(hosts));
  app.use(
    bodyLimit({ maxSize: MAX_BODY_BYTES, onError: (c) => c.json({ error: "the body is too large" }, 413) }),
  );
  app.use(async (c, next) => {
    // A bot can still fetch the events that are in it.
    if (c.req.method === "POST" && !c.req.path.startsWith("/events") && chat.isFull)
      return c.json({ error: "the service is full: start it anew" }, 507);
    await next();
    return undefined;
  });
  app.onError((error, c) => {
    if (error instanceof HTTPException) return c.json({ error: error.message }, error.status);
    return c.json({ error: errorMessage(error) }, 500);
  });
  app.route("/", peopleRoutes(chat, faults, shutdown));
  app.route("/", botRoutes(chat, faults, shutdown));
  return app;
}

function isInfo(address: string | AddressInfo | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
