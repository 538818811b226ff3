import type { Wire } from "../wire.ts";
import { ResponsesReader } from "./responses-events.ts";
import { responsesBody } from "./responses-request.ts";

export function responsesWire(post: Wire["post"]): Wire {
  return {
    body: responsesBody,
    post,
    reader: () => new ResponsesReader(),
  };
}
