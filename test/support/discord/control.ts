/** Drives a server in another process over HTTP: `POST /_control { target, method, args }`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";

import { z } from "zod";

import type { Deliveries } from "./deliveries.ts";
import type { Faults } from "./faults.ts";
import type { Gateway } from "./gateway.ts";
import type { Journal } from "./journal.ts";
import type { DiscordServer } from "./server.ts";
import type { World } from "./world.ts";

export const CONTROL_PATH = "/_control";

/** An object's methods as calls over HTTP. Results come as JSON, without functions. */
export type Remote<Target> = {
  readonly [
    Name in keyof Target as Target[Name] extends (...args: never) => unknown ? Name : never
  ]: Target[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

export interface RemoteDiscord {
  readonly url: string;
  readonly api: string;
  readonly token: string;
  readonly world: Remote<World>;
  readonly gateway: Remote<Gateway>;
  readonly deliveries: Remote<Deliveries>;
  readonly faults: Remote<Faults>;
  readonly journal: Remote<Journal>;
  readonly server: Remote<DiscordServer>;
}

const TARGETS = ["world", "gateway", "deliveries", "faults", "journal", "server"] as const;
const controlCall = z.object({ target: z.enum(TARGETS), method: z.string(), args: z.array(z.unknown()) });
const controlResult = z.object({ result: z.unknown().optional(), error: z.string().optional() });

/** Makes one call, and answers `{ result }`, or `{ error }` with 400. */
export async function serveControl(
  server: DiscordServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { target, method, args } = controlCall.parse(await json(request));
    const object = targetOf(server, target);
    const action: unknown = Reflect.get(object, method);
    if (typeof action !== "function") throw new Error(`There is no ${target}.${method}.`);
    const result: unknown = await Reflect.apply(action, object, args);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ result }));
  } catch (error) {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ result: null, error: error instanceof Error ? error.message : "It failed." }),
    );
  }
}

function targetOf(server: DiscordServer, target: (typeof TARGETS)[number]): object {
  if (target === "server") return server;
  return target === "deliveries" ? server.gateway.deliveries : server[target];
}

/** Drives a server in another process. Each call throws the other method's error. */
export function driveDiscord(url: string, token: string): RemoteDiscord {
  const drive = (target: (typeof TARGETS)[number]): unknown =>
    new Proxy(
      {},
      {
        get:
          (_, method) =>
          async (...args: unknown[]) =>
            call(url, { target, method: String(method), args }),
      },
    );
  return {
    url,
    api: `${url}/api`,
    token,
    world: z.custom<Remote<World>>().parse(drive("world")),
    gateway: z.custom<Remote<Gateway>>().parse(drive("gateway")),
    deliveries: z.custom<Remote<Deliveries>>().parse(drive("deliveries")),
    faults: z.custom<Remote<Faults>>().parse(drive("faults")),
    journal: z.custom<Remote<Journal>>().parse(drive("journal")),
    server: z.custom<Remote<DiscordServer>>().parse(drive("server")),
  };
}

async function call(url: string, body: z.infer<typeof controlCall>): Promise<unknown> {
  const response = await fetch(`${url}${CONTROL_PATH}`, { method: "POST", body: JSON.stringify(body) });
  const { result, error } = controlResult.parse(await response.json());
  if (error !== undefined) throw new Error(error);
  return result;
}
