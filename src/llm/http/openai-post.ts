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
  const loaded = async (): Promise<OpenAI> =>
    (client ??= (await import("./openai-client.ts")).openAiClient(options));
  // A failure comes up again with the first request.
  setTimeout(() => void loaded().catch(() => undefined), LOADED_AFTER_MS).unref();
  return (path) => async (body, more) => {
    const ready = await loaded();
    return ready
      .post(path, { body, headers: { "content-type": "application/json" }, stream: true, ...more })
      .asResponse();
  };
}
