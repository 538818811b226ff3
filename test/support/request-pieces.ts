import { textPieces } from "../../src/llm/offline/transcript.ts";
import type { ChatRequest } from "./model-server.ts";

/**
 * The messages of a request, with those of users split: each person's line, each summary and note is separate.
 * @returns none without a request
 */
export function piecesIn(request: Pick<ChatRequest, "messages"> | undefined): ChatRequest["messages"] {
  return (request?.messages ?? []).flatMap((message) =>
    message.role === "user"
      ? textPieces(message.content ?? "").map((content) => ({ ...message, content }))
      : message,
  );
}

/** Whether a request offers a tool. */
export function offers({ tools }: Pick<ChatRequest, "tools">, name: string): boolean {
  return tools?.some((tool) => tool.function.name === name) === true;
}
