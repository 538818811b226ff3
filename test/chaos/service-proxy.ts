/** A proxy before the loopback service, at which the bot's calls can be held, before or after they are done. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { z } from "zod";
import { startListening } from "../support/listening.ts";
import { IN_PARTS } from "./answers.ts";
import { Hold } from "./hold.ts";

/**
 * `before`: the service has not heard of it; `after`: it is done, and the bot has not heard of that. Of an answer in parts:
 * `first` and `second`, as `after` that part; `between`, as `before` the second.
 */
export type Place =
  | "send.before"
  | "send.after"
  | "edit.before"
  | "edit.after"
  | "part.first"
  | "part.between"
  | "part.second";

/** What was held there is done already. */
export function isAfter(place: Place): boolean {
  return !BEFORE.has(place);
}

const BEFORE: ReadonlySet<Place> = new Set<Place>(["send.before", "edit.before", "part.between"]);

export interface ServiceProxy extends AsyncDisposable {
  readonly url: string;
  readonly holds: Readonly<Record<Place, Hold>>;
  /** What was held before is done after its caller is gone: true; it never comes through: false. */
  comesThrough: boolean;
}

class Proxy {
  readonly holds = {
    "send.before": new Hold(),
    "send.after": new Hold(),
    "edit.before": new Hold(),
    "edit.after": new Hold(),
    "part.first": new Hold(),
    "part.between": new Hold(),
    "part.second": new Hold(),
  };
  comesThrough = true;
  readonly #target: string;
  readonly #parts = new PartCounter();
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
    const places = this.#placesOf(request.method ?? "GET", path, body);
    for (const place of places.filter((one) => !isAfter(one))) {
      const hold = this.holds[place];
      const isHeld = hold.isArmed;
      await hold.pass();
      if (isHeld && !this.comesThrough) return void response.destroy();
    }
    const isPoll = path === "/events";
    const answer = await this.#forward(request, path, body, isPoll ? gone.signal : null);
    if (answer === null) return void response.destroy();
    for (const place of places.filter(isAfter)) await this.holds[place].pass();
    if (gone.signal.aborted) return;
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(answer.text);
  }

  /** Where this call passes by. */
  #placesOf(method: string, path: string, body: string): Place[] {
    const operation = operationOf(method, path);
    if (operation === null) return [];
    const part = this.#parts.partOf(path.split("/")[2] ?? "", spoken.parse(JSON.parse(body)));
    const ofPart: readonly Place[] =
      part === 0 ? ["part.first"] : part === 1 ? ["part.between", "part.second"] : [];
    return [`${operation}.before`, `${operation}.after`, ...ofPart];
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

const spoken = z.object({ text: z.string(), final: z.boolean() });

/** Knows the parts of the answer that a channel was last sent: a message does not say which part it is. */
class PartCounter {
  readonly #sent = new Map<string, string[]>();

  /** @returns from 0; null: it is no whole part, or of no answer in parts */
  partOf(channel: string, { text, final }: z.output<typeof spoken>): number | null {
    if (!final) return null;
    const isFirst = text.startsWith("Answer") || text.startsWith("Sorry");
    if (isFirst) {
      const isLong = IN_PARTS.test(text);
      this.#sent.set(channel, isLong ? [text] : []);
      return isLong ? 0 : null;
    }
    const sent = this.#sent.get(channel) ?? [];
    if (sent.length === 0) return null;
    if (!sent.includes(text)) sent.push(text);
    return sent.indexOf(text);
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
  const listening = await startListening(server);
  return Object.assign(proxy, {
    url: listening.url,
    async [Symbol.asyncDispose]() {
      proxy.stop();
      await listening[Symbol.asyncDispose]();
    },
  });
}
