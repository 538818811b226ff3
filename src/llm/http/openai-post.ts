import type { OpenAI } from "openai";
import type { Wire } from "../wire.ts";
import type { ClientOptions } from "./openai-client.ts";

/** A start does not wait for the client, and the first answer need not. */
const LOADED_AFTER_MS = 500;

/**
 * Requests to the paths of a server. Its client is a third of the program's modules: it is loaded after the start, or with the
 * first request.
 * @returns for a path, what sends JSON as a text: the client's encoder would traverse an object several times
 */
export function openAiPosts(options: ClientOptions): (path: string) => Wire["post"] {
  let client: OpenAI | undefined;
  const load = async (): Promise<typeof import("./openai-client.ts")> => import("./openai-client.ts");
  setTimeout(() => void load().catch(() => undefined), LOADED_AFTER_MS).unref();
  return (path) => async (body, more) => {
    client ??= (await load()).openAiClient(options);
    return client
      .post(path, { body, headers: { "content-type": "application/json" }, stream: true, ...more })
      .asResponse();
  };
}
