import { OpenAI } from "openai";
import { chatFetch } from "./chat-fetch.ts";

export interface ClientOptions {
  readonly baseUrl: string;
  /** Undefined: the server needs none. */
  readonly apiKey: string | undefined;
  /** Sent with each request; they override the client's. */
  readonly headers: Readonly<Record<string, string>>;
  /** ms, for a whole request. */
  readonly timeoutMs: number;
}

/** The official client of an OpenAI-compatible server: it neither retries nor logs, and reads bodies by `chatFetch`. */
export function openAiClient({ baseUrl, apiKey, headers, timeoutMs }: ClientOptions): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    // The client requires a key; servers without one ignore it.
    apiKey: apiKey ?? "none",
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: timeoutMs,
    logLevel: "off",
    // The client also reads headers from the environment: the key overrides them.
    defaultHeaders: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers },
    fetch: chatFetch,
  });
}
