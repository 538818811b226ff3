import type { OpenAI } from "openai";
import type { Wire } from "../wire.ts";
import type { ClientOptions } from "./openai-client.ts";

/**
 * Requests to the paths of a server. Its client is a third of the program's modules: it is loaded with the first request.
 * @returns for a path, what sends JSON as a text: the client's encoder would traverse an object several times
 */
export function openAiPosts(options: ClientOptions): (path: string) => Wire["post"] {
  let client: OpenAI | undefined;
  return (path) => async (body, more) => {
    client ??= (await import("./openai-client.ts")).openAiClient(options);
    return client
      .post(path, { body, headers: { "content-type": "application/json" }, stream: true, ...more })
      .asResponse();
  };
}
