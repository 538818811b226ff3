import { z } from "zod";

import { ApiError, type Arguments } from "./arguments.ts";
import { findMessage, findWritable, readMetadata, readThread, render } from "./methods-chat.ts";
import type { Method, MethodContext } from "./method.ts";
import type { JsonObject, SlackMessage } from "./model.ts";

/** Streamed answers: a message that grows. In a channel they need a thread and a person as the recipient. */
export const streamMethods: Readonly<Record<string, Method>> = {
  "chat.startStream": { scope: "chat:write", run: startStream },
  "chat.appendStream": { scope: "chat:write", run: appendStream },
  "chat.stopStream": { scope: "chat:write", run: stopStream },
};

const chunks = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }));

function startStream(args: Arguments, context: MethodContext): JsonObject {
  const { workspace, feed } = context;
  const channel = findWritable(args, context);
  args.required("thread_ts");
  if (channel.type !== "im") {
    if (args.text("recipient_user_id") === undefined) throw new ApiError("missing_recipient_user_id");
    if (args.text("recipient_team_id") === undefined) throw new ApiError("missing_recipient_team_id");
  }
  const message = workspace.post({
    channel: channel.id,
    text: readChunks(args, context),
    user: workspace.bot.id,
    botId: workspace.bot.botId,
    threadTs: readThread(args, context, channel),
    streaming: "in_progress",
  });
  feed.posted(message);
  return { channel: channel.id, ts: message.ts };
}

function appendStream(args: Arguments, context: MethodContext): JsonObject {
  const message = findStream(args, context);
  const text = readChunks(args, context);
  if (text === "") throw new ApiError("no_text");
  message.text += text;
  return { channel: message.channel, ts: message.ts };
}

function stopStream(args: Arguments, context: MethodContext): JsonObject {
  const message = findStream(args, context);
  const previous = context.feed.render(message);
  message.text += readChunks(args, context);
  message.blocks = args.json("blocks");
  message.metadata = readMetadata(args) ?? message.metadata;
  message.streaming = "completed";
  context.feed.changed(message, previous);
  return { channel: message.channel, ts: message.ts, message: render(message, context) };
}

function findStream(args: Arguments, context: MethodContext): SlackMessage {
  const message = findMessage(args, context);
  if (message.botId !== context.workspace.bot.botId) throw new ApiError("message_not_owned_by_app");
  if (message.streaming !== "in_progress") throw new ApiError("message_not_in_streaming_state");
  return message;
}

/** The text that a call adds. */
function readChunks(args: Arguments, { limits }: MethodContext): string {
  const parsed = chunks.safeParse(args.json("chunks") ?? []);
  if (!parsed.success) throw new ApiError("invalid_chunks");
  const texts = parsed.data.filter(({ type }) => type === "markdown_text").map(({ text }) => text ?? "");
  const text = [args.text("markdown_text") ?? "", ...texts].join("");
  if (text.length > limits.markdownLength) throw new ApiError("msg_too_long");
  return text;
}
