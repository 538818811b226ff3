import type { Wire, WireReader } from "../wire.ts";
import { chatRequestBody } from "./chat-request.ts";
import { inKnownRoles } from "./known-roles.ts";

const READER: WireReader = { chunk: (event) => event, thoughts: () => [] };

/** OpenAI's Chat Completions, whose format all wires' answers are converted to. */
export function chatWire(post: Wire["post"]): Wire {
  return {
    body: (request, dialect, rule) => chatRequestBody(inKnownRoles(request, dialect), dialect, rule),
    post,
    reader: () => READER,
  };
}
