/** A proxy before the loopback service, at which the bot's calls can be held, before or after they are done. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { Hold } from "./hold.ts";

/** `before`: the service has not heard of it; `after`: it is done, and the bot has not heard of that. */
export type Place = "send.before" | "send.after" | "edit.before" | "edit.after";

export interface ServiceProxy extends AsyncDisposable {
  readonly url: string;
  readonly holds: Readonly<Record<Place, Hold>>;
  /** What was held before is done after its caller is gone: true; it never comes through: false. */
  comesThrough: boolean;
  /** The last event of which the bot has said that it is durable. */
  readonly acknowledged: number;
}

class Proxy {
  readonly holds = {
    "send.before": new Hold(),
    "send.after": new Hold(),
    "edit.before": new Hold(),
    "edit.after": new Hold(),
  };
  comesThrough = true;
  acknowledged = 0;
  readonly #target: string;
  readonly #stopping = new AbortController();

  constructor(target: string) {
    this.#target = target;
  }

  stop(): void {
    this.#stopping.abort();
    for (const hold of Object.values(this.holds)) hold.release();
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const body = await readText(request).catch(() => null);
    if (body === null) return;
    const path = request.url ?? "/";
    const after = /[?&]after=(\d+)/.exec(path)?.[1];
    if (after !== undefined) this.acknowledged = Math.max(this.acknowledged, Number(after));
    const operation = operationOf(request.method ?? "GET", path);
    if (operation !== null) {
      const hold = this.holds[`${operation}.before`];
      const isHeld = hold.isArmed;
      await hold.pass();
      if (isHeld && !this.comesThrough) return void response.destroy();
    }
    const isPoll = path.startsWith("/events");
    const answer = await this.#forward(request, path, body, isPoll ? gone.signal : null);
    if (answer === null) return void response.destroy();
    if (operation !== null) await this.holds[`${operation}.after`].pass();
    if (gone.signal.aborted) return;
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(answer.text);
  }

  async #forward(
    { method, headers }: IncomingMessage,
    path: string,
    body: string,
    gone: AbortSignal | null,
  ): Promise<{ readonly status: number; readonly text: string } | null> {
    const key = headers["idempotency-key"];
    try {
      const response = await fetch(`${this.#target}${path}`, {
        method: method ?? "GET",
        headers: {
          "content-type": "application/json",
          ...(typeof key === "string" ? { "idempotency-key": key } : {}),
        },
        body: body === "" ? null : body,
        signal: gone === null ? this.#stopping.signal : AbortSignal.any([gone, this.#stopping.signal]),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      // The caller is gone, or the service is.
      return null;
    }
  }
}

function operationOf(method: string, path: string): "send" | "edit" | null {
  if (!/^\/channels\/[^/]+\/replies/.test(path)) return null;
  return method === "POST" ? "send" : "edit";
}

export async function startServiceProxy(target: string): Promise<ServiceProxy> {
  const proxy = new Proxy(target);
  const server = createServer((request, response) => {
    void proxy.serve(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      proxy.stop();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  });
}
