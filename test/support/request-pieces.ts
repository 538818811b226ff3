import { textPieces } from "../../src/llm/offline/pieces.ts";
import type { ChatRequest } from "./model-server.ts";

/**
 * The messages of a request, those of users taken apart: each line that a person said, each summary and note stands alone.
 * @returns none of no request
 */
export function piecesIn(request: Pick<ChatRequest, "messages"> | undefined): ChatRequest["messages"] {
  return (request?.messages ?? []).flatMap((message) =>
    message.role === "user"
      ? textPieces(message.content ?? "").map((content) => ({ ...message, content }))
      : message,
  );
}
