import { Anthropic, APIConnectionError, APIError as AnthropicError } from "@anthropic-ai/sdk";
import { APIError } from "openai/error";
import type { ChatServer } from "../chat/chat-request.ts";
import { chatFetch } from "../http/chat-fetch.ts";
import type { PostOptions, Wire } from "../wire.ts";

/** Sends requests to Messages. The server's address may end in `/v1`, like other servers'. */
export function openMessagesClient({ baseUrl, apiKey, headers = {}, timeouts }: ChatServer): Wire["post"] {
  const client = new Anthropic({
    baseURL: baseUrl.replace(/\/v1$/, ""),
    // Without one, the client would search the environment and the user's home directory.
    apiKey: apiKey ?? "none",
    maxRetries: 0,
    // Later than the watchdog, which ends the request.
    timeout: timeouts.totalMs + 60_000,
    logLevel: "off",
    openTelemetry: { traces: false, propagation: false },
    // The client also reads headers from the environment: the key overrides them.
    defaultHeaders: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers },
    fetch: chatFetch,
  });
  return async (body: string, options: PostOptions) => {
    try {
      return await client
        .post("/v1/messages", {
          body,
          headers: { "content-type": "application/json" },
          stream: true,
          ...options,
        })
        .asResponse();
    } catch (error) {
      throw asCommon(error);
    }
  };
}

/** A refusal in the common form of all wires, which is classified in one place. */
function asCommon(error: unknown): unknown {
  if (!(error instanceof AnthropicError) || error instanceof APIConnectionError) return error;
  const body: unknown = error.error;
  const inner = typeof body === "object" && body !== null && "error" in body ? body.error : body;
  const told = typeof inner === "object" && inner !== null ? inner : undefined;
  const message = told === undefined ? error.message.replace(/^\d{3} /, "") : undefined;
  return new APIError(error.status, told, message, error.headers ?? new Headers());
}
