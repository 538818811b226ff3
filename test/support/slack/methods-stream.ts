import { z } from "zod";

import { ApiError, type Arguments } from "./arguments.ts";
import { refusalOfBlocks } from "./blocks.ts";
import { findMessage, findWritable, readMetadata, readThread, render } from "./methods-chat.ts";
import type { Method, MethodContext } from "./method.ts";
import type { JsonObject, SlackMessage, SlackStream } from "./model.ts";

/** Streamed answers: a message that grows. In a channel they need a thread and a person as the recipient. */
export const streamMethods: Readonly<Record<string, Method>> = {
  "chat.startStream": { scope: "chat:write", run: startStream },
  "chat.appendStream": { scope: "chat:write", run: appendStream },
  "chat.stopStream": { scope: "chat:write", run: stopStream },
};

const MAX_TITLE = 256;
const chunk = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("markdown_text"), text: z.string().min(1) }),
  z.strictObject({
    type: z.literal("task_update"),
    id: z.string().min(1),
    title: z.string().min(1).max(MAX_TITLE),
    status: z.enum(["pending", "in_progress", "complete", "error"]),
    details: z.string().optional(),
    output: z.string().optional(),
  }),
  z.strictObject({ type: z.literal("plan_update"), title: z.string().min(1).max(MAX_TITLE) }),
]);
const chunks = z.array(chunk).min(1);
type Chunk = z.infer<typeof chunk>;

function startStream(args: Arguments, context: MethodContext): JsonObject {
  const { workspace, feed } = context;
  const channel = findWritable(args, context);
  args.required("thread_ts");
  const recipient = args.text("recipient_user_id");
  if (channel.type !== "im") {
    if (recipient === undefined) throw new ApiError("missing_recipient_user_id");
    if (args.text("recipient_team_id") === undefined) throw new ApiError("missing_recipient_team_id");
  }
  const display = args.text("task_display_mode") ?? "timeline";
  if (display !== "timeline" && display !== "plan") throw new ApiError("invalid_arguments");
  const stream: SlackStream = {
    mode: undefined,
    display,
    recipient,
    isStoppedByUser: false,
    tasks: new Map(),
    plan: undefined,
  };
  const content = readContent(args, context);
  const message = workspace.post({
    channel: channel.id,
    text: "",
    user: workspace.bot.id,
    botId: workspace.bot.botId,
    threadTs: readThread(args, context, channel),
    streaming: "in_progress",
    stream,
  });
  add(message, content);
  feed.posted(message);
  return { channel: channel.id, ts: message.ts };
}

function appendStream(args: Arguments, context: MethodContext): JsonObject {
  const message = findStream(args, context);
  const content = readContent(args, context);
  if (content.mode === undefined) throw new ApiError("no_text");
  add(message, content);
  return { channel: message.channel, ts: message.ts };
}

function stopStream(args: Arguments, context: MethodContext): JsonObject {
  const message = findStream(args, context);
  const previous = context.feed.render(message);
  const blocks = args.json("blocks");
  const refusal = refusalOfBlocks(blocks);
  if (refusal !== null) throw new ApiError(refusal);
  const metadata = readMetadata(args);
  add(message, readContent(args, context));
  message.blocks = blocks;
  message.metadata = metadata ?? message.metadata;
  message.streaming = "completed";
  context.feed.changed(message, previous);
  return { channel: message.channel, ts: message.ts, message: render(message, context) };
}

function findStream(args: Arguments, context: MethodContext): SlackMessage {
  const message = findMessage(args, context);
  if (message.botId !== context.workspace.bot.botId) throw new ApiError("message_not_owned_by_app");
  if (message.stream?.isStoppedByUser === true) throw new ApiError("stopped_by_user");
  if (message.streaming !== "in_progress") throw new ApiError("message_not_in_streaming_state");
  return message;
}

interface Content {
  readonly mode: SlackStream["mode"];
  readonly chunks: readonly Chunk[];
}

/** What a call adds. */
function readContent(args: Arguments, { limits }: MethodContext): Content {
  const markdown = args.text("markdown_text");
  const given = args.json("chunks");
  if (markdown !== undefined && given !== undefined)
    throw new ApiError("cannot_provide_both_markdown_text_and_chunks");
  if (markdown !== undefined) {
    if (markdown.length > limits.markdownLength) throw new ApiError("msg_too_long");
    return { mode: "markdown", chunks: [{ type: "markdown_text", text: markdown }] };
  }
  if (given === undefined || (Array.isArray(given) && given.length === 0))
    return { mode: undefined, chunks: [] };
  const parsed = chunks.safeParse(given);
  if (!parsed.success) throw new ApiError("invalid_chunks");
  const length = parsed.data.reduce(
    (sum, one) => sum + (one.type === "markdown_text" ? one.text.length : 0),
    0,
  );
  if (length > limits.markdownLength) throw new ApiError("msg_too_long");
  return { mode: "chunks", chunks: parsed.data };
}

/** @throws ApiError `streaming_mode_mismatch`: a stream takes the one or the other to its end */
function add(message: SlackMessage, { mode, chunks: added }: Content): void {
  const { stream } = message;
  if (stream === undefined || mode === undefined) return;
  stream.mode ??= mode;
  if (stream.mode !== mode) throw new ApiError("streaming_mode_mismatch");
  for (const one of added) {
    if (one.type === "markdown_text") message.text += one.text;
    else if (one.type === "task_update") stream.tasks.set(one.id, { title: one.title, status: one.status });
    else stream.plan = one.title;
  }
}
