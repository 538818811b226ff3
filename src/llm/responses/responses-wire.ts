import type { OpenAI } from "openai";
import { postTo } from "../http/openai-client.ts";
import type { Wire } from "../wire.ts";
import { ResponsesReader } from "./responses-events.ts";
import { responsesBody } from "./responses-request.ts";

export function responsesWire(client: OpenAI): Wire {
  return {
    body: responsesBody,
    post: postTo(client, "/responses"),
    reader: () => new ResponsesReader(),
  };
}
