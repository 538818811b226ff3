import type { OpenAI } from "openai";
import type { Wire } from "../wire.ts";
import { ResponsesReader } from "./responses-events.ts";
import { responsesBody } from "./responses-request.ts";

/** OpenAI's Responses. */
export function responsesWire(client: OpenAI): Wire {
  return {
    body: responsesBody,
    post: async (body, options) =>
      client
        .post("/responses", {
          body,
          headers: { "content-type": "application/json" },
          stream: true,
          ...options,
        })
        .asResponse(),
    reader: () => new ResponsesReader(),
  };
}
