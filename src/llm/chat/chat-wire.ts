import type { OpenAI } from "openai";
import type { Wire, WireReader } from "../wire.ts";
import { chatRequestBody } from "./chat-request.ts";
import { inKnownRoles } from "./known-roles.ts";

const READER: WireReader = { chunk: (event) => event, thoughts: () => [] };

/** OpenAI's Chat Completions, in whose words all answers are read. */
export function chatWire(client: OpenAI): Wire {
  return {
    body: (request, dialect, rule) => chatRequestBody(inKnownRoles(request, dialect), dialect, rule),
    // A text: the client's encoder would go over an object several times.
    post: async (body, options) =>
      client
        .post("/chat/completions", {
          body,
          headers: { "content-type": "application/json" },
          stream: true,
          ...options,
        })
        .asResponse(),
    reader: () => READER,
  };
}
