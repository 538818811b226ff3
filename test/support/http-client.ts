import { readFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import path from "node:path";
import { text as readText } from "node:stream/consumers";
import type { Home } from "./e2e.ts";
import type { TestProcess } from "./process.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** One request with any headers; fetch would not send all of them. */
export async function ask(
  url: string,
  options: {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
  } = {},
): Promise<HttpAnswer> {
  const { method = "GET", headers = {}, body } = options;
  const sent = request(url, { method, headers, agent: false });
  sent.end(body);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.once("response", resolve).once("error", reject);
  const response = await promise;
  return { status: response.statusCode ?? 0, headers: response.headers, body: await readText(response) };
}

/** The HTTP service of a daemon's process. */
export interface HttpFace {
  readonly url: string;
  readonly token: string;
  /** Without the token. */
  plain(path: string): Promise<HttpAnswer>;
  /** With it. */
  get(path: string): Promise<HttpAnswer>;
}

/** The address at which a daemon reports that it listens, as soon as it does. */
export async function httpFace(daemon: TestProcess, home: Home, configured?: string): Promise<HttpFace> {
  const line = await daemon.errorLine('"http_listens"');
  const url = /"where":"(?<url>[^"]+)"/.exec(line)?.groups?.["url"] ?? "";
  const token = configured ?? (await readFile(path.join(home.dataDir, "http.token"), "utf8")).trim();
  return {
    url,
    token,
    plain: async (where) => ask(`${url}${where}`),
    get: async (where) => ask(`${url}${where}`, { headers: { authorization: `Bearer ${token}` } }),
  };
}
