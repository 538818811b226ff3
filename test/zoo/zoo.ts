/**
 * Model servers of all families: real HTTP on loopback, each as its species says. A server with a public name is reached through the
 * zoo as an HTTP proxy, so that whatever goes by names of hosts meets the true ones.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import {
  type Api,
  type Asked,
  CHARACTERS_PER_TOKEN,
  imageTokens,
  promptTokens,
  readAsked,
  textOf,
} from "./asked.ts";
import { type CacheUse, ProviderCache, RefusedMarks } from "../support/provider-caches.ts";
import { think } from "./mind.ts";
import { openAiError, type Refusal, type Species } from "./species.ts";
import { type Ending, written } from "./streams.ts";

/** Models that each server knows beside its own. */
export const DEAD = "withdrawn-model";
export const SPARE = "spare-model";

/** One request for an answer. */
export interface Visit {
  readonly asked: Asked;
  readonly refused: Refusal | null;
  /** What was refused is a form that the server never takes. */
  readonly isForm: boolean;
  /** Null: it was turned away. */
  readonly paid: CacheUse | null;
  readonly headers: IncomingMessage["headers"];
  /** The client went away before the end. */
  isAborted: boolean;
}

export interface Cage extends AsyncDisposable {
  readonly species: Species;
  /** What `[llm] base_url` says. */
  readonly url: string;
  /** The zoo itself, as an HTTP proxy. */
  readonly proxy: string;
  readonly visits: readonly Visit[];
  /** Resolves when so many requests have come. */
  visited(count: number): Promise<void>;
}

/** A server of one species. */
export async function openCage(species: Species): Promise<Cage> {
  const keeper = new Keeper(species);
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    void keeper.serve(request, response).catch(() => response.destroy());
  });
  server.on("connect", (_, socket) => {
    // A client that wants a tunnel to a public name gets this server.
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    server.emit("connection", socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const proxy = `http://127.0.0.1:${port}`;
  return {
    species,
    url: (species.host === null ? proxy : `http://${species.host}`) + species.path,
    proxy,
    visits: keeper.visits,
    visited: async (count) => keeper.visited(count),
    async [Symbol.asyncDispose]() {
      keeper.closing.abort();
      server.close();
      server.closeAllConnections();
    },
  };
}

const ENDPOINTS: readonly (readonly [string, Api])[] = [
  ["/chat/completions", "chat"],
  ["/responses", "responses"],
  ["/messages", "messages"],
];

class Keeper {
  readonly visits: Visit[] = [];
  readonly closing = new AbortController();
  readonly #species: Species;
  /** By model. */
  readonly #caches = new Map<string, ProviderCache>();
  readonly #seen = new Set<string>();
  readonly #waiting = new Set<() => void>();
  #number = 0;

  constructor(species: Species) {
    this.#species = species;
  }

  async visited(count: number): Promise<void> {
    while (this.visits.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await promise;
    }
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = URL.parse(request.url ?? "", "http://zoo.invalid")?.pathname ?? "";
    const body = await readText(request);
    const [, api] = ENDPOINTS.find(([end]) => path.endsWith(end)) ?? [];
    if (request.method !== "POST" || api === undefined) {
      this.#serveSide(`${request.method} ${path}`, body, response);
      return;
    }
    if (!this.#species.apis.includes(api)) {
      refuse(response, openAiError(404, `Unknown request URL: POST ${path}.`, { code: "unknown_url" }));
      return;
    }
    const asked = readAsked(api, JSON.parse(body));
    const seen = this.#through(asked);
    const refusedForm = this.#formRefusal(asked);
    const turnedAway = refusedForm ?? this.#refusalOf(asked) ?? seen.refused;
    const bill = turnedAway ?? seen.paid ?? this.#pay(asked);
    const refused = "status" in bill ? bill : null;
    const paid = "status" in bill ? null : bill;
    const isForm = refusedForm !== null;
    const visit: Visit = { asked, refused, isForm, paid, headers: request.headers, isAborted: false };
    this.visits.push(visit);
    response.on("close", () => (visit.isAborted = !response.writableFinished));
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    if (refused !== null || paid === null) {
      refuse(response, refused ?? openAiError(500, "unknown"));
      return;
    }
    const said = think(seen.shown);
    const { form } = this.#species;
    const told = { asked, said, paid, ending: seen.ending, form, number: this.#number++ };
    await this.#write(response, written(told), said.isHeld);
  }

  /** What a request costs that is taken; a refusal of its marks. */
  #pay(asked: Asked): CacheUse | Refusal {
    const { cache: kind } = this.#species;
    const cost = allPlain(promptTokens(asked));
    if (kind === null) return cost;
    const cache = this.#caches.get(asked.model) ?? new ProviderCache(kind);
    this.#caches.set(asked.model, cache);
    const said = asked.turns.flatMap(({ role, pieces }) => pieces.map((piece) => ({ role, ...piece })));
    const parts = [{ role: "tools", text: asked.toolText, mark: null }, ...said];
    const last = parts.at(-1);
    // By itself OpenAI marks the latest message.
    const isImplicit = kind.kind === "breakpoints" && !isExplicit(asked);
    const marked = isImplicit && last !== undefined ? [...parts.slice(0, -1), { ...last, mark: "" }] : parts;
    try {
      const use = cache.use(marked, performance.now());
      return { ...use, plain: use.plain + imageTokens(asked) };
    } catch (error) {
      if (error instanceof RefusedMarks) return openAiError(400, error.message);
      throw error;
    }
  }

  #formRefusal(asked: Asked): Refusal | null {
    if (asked.model === DEAD) return null;
    return this.#species.rules.map((one) => one(asked)).find((refusal) => refusal !== null) ?? null;
  }

  #refusalOf(asked: Asked): Refusal | null {
    const { once: first } = this.#species;
    if (asked.model === DEAD)
      return openAiError(404, `The model \`${DEAD}\` does not exist or you do not have access to it.`, {
        code: "model_not_found",
      });
    const refused = first?.(asked) ?? null;
    const key = JSON.stringify(refused?.body);
    if (refused === null || this.#seen.has(key)) return null;
    this.#seen.add(key);
    return refused;
  }

  /** What the window makes of a request: whether it is taken, what of it the model sees, and what is reported. */
  #through(asked: Asked): Seen {
    const { window, narrow } = this.#species;
    const tokens = promptTokens(asked);
    const isNarrow = asked.model === narrow || asked.model === SPARE;
    const output = window.countsOutput ? asked.maxTokens : 0;
    const whole: Seen = { shown: asked, ending: "whole", refused: null, paid: null };
    if (!isNarrow || tokens + output <= window.tokens) return whole;
    switch (window.over) {
      case "refuses":
        return { ...whole, refused: window.refusal(tokens, window.tokens, asked.maxTokens) };
      case "cuts":
        return { ...whole, shown: cut(asked, window.tokens), paid: allPlain(window.tokens) };
      case "empty":
        return { ...whole, ending: "no_room", paid: allPlain(window.tokens - 1) };
    }
  }

  async #write(response: ServerResponse, parts: readonly string[], isHeld: boolean): Promise<void> {
    const { bytes } = this.#species.form;
    const headers = { "content-type": parts.length === 1 ? "application/json" : "text/event-stream" };
    if (bytes === "gzip") {
      response.writeHead(200, { ...headers, "content-encoding": "gzip" });
      response.end(gzipSync(parts.join("")));
      return;
    }
    response.writeHead(200, headers);
    if (bytes === "bom") response.write("\uFEFF");
    for (const part of parts) response.write(part);
    if (isHeld) {
      const left = new AbortController();
      response.on("close", () => left.abort());
      const signal = AbortSignal.any([left.signal, this.closing.signal]);
      await delay(600_000, undefined, { signal }).catch(() => undefined);
    }
    response.end();
  }

  #serveSide(line: string, body: string, response: ServerResponse): void {
    const answer = this.#species.side(line, body, this.#species);
    if (answer === null) refuse(response, openAiError(404, `no route ${line}`));
    else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    }
  }
}

interface Seen {
  readonly shown: Asked;
  readonly ending: Ending;
  readonly refused: Refusal | null;
  /** Null: as the cache has it. */
  readonly paid: CacheUse | null;
}

function isExplicit({ body }: Asked): boolean {
  return JSON.stringify(body["prompt_cache_options"] ?? "").includes("explicit");
}

function allPlain(tokens: number): CacheUse {
  return { plain: tokens, read: 0, written: 0, write: 1 };
}

/** The system prompt and the end of the rest: what is left where a server cuts from the front. */
function cut(asked: Asked, tokens: number): Asked {
  const turns = [...asked.turns];
  const first = turns[0]?.role === "system" ? 1 : 0;
  while (turns.length > first + 1 && promptTokens({ ...asked, turns }) > tokens) turns.splice(first, 1);
  const over = Math.max(0, promptTokens({ ...asked, turns }) - tokens) * CHARACTERS_PER_TOKEN;
  const last = turns[first];
  if (over > 0 && last !== undefined)
    turns[first] = { ...last, pieces: [{ text: textOf(last).slice(over), mark: null }] };
  return { ...asked, turns };
}

function refuse(response: ServerResponse, { status, body, headers }: Refusal): void {
  const isText = typeof body === "string";
  response.writeHead(status, { "content-type": isText ? "text/html" : "application/json", ...headers });
  response.end(isText ? body : JSON.stringify(body));
}
