import { z } from "zod";
import type { ChannelAddress } from "../../src/core/ids.ts";
import { text, toolCalls } from "./model-behaviours.ts";
import type { ChatRequest } from "./model-server.ts";
import { piecesIn } from "./request-pieces.ts";

/** A channel of a platform whose people have ids. */
export const ROOM: ChannelAddress = { platform: "discord", name: "room" };

/** Says `ask JSON` and the model calls the tool with it. It repeats what it is told of the answer. */
export function asking(request: ChatRequest): ReturnType<typeof text> {
  const messages = piecesIn(request);
  const last = messages.at(-1);
  if (last?.role === "tool") return text(`told: ${last.content}`);
  const said =
    messages.findLast(({ role, content }) => role === "user" && content?.startsWith("[System") !== true)
      ?.content ?? "";
  const heard = /\[Weir: question #\d+\] ([^]+)/.exec(said)?.[1];
  if (heard !== undefined) return text(`heard: ${heard}`);
  const wanted = /ask (\{.+\})/.exec(said)?.[1];
  return wanted === undefined || request.tools === undefined
    ? text("fine")
    : toolCalls([{ name: "ask", arguments: z.looseObject({}).parse(JSON.parse(wanted)) }]);
}

/** A message that makes the model ask about colours. */
export function askFor(more: object = {}): string {
  return `ask ${JSON.stringify({ question: "Which colour?", choices: ["Red", "Deep blue"], ...more })}`;
}
