import { ApiError, type Arguments } from "./arguments.ts";
import { refusalOfBlocks } from "./blocks.ts";
import { findChannel, type Method, type MethodContext } from "./method.ts";
import type { JsonObject, SlackChannel, SlackMessage } from "./model.ts";
import { renderMessage } from "./rendering.ts";

export const chatMethods: Readonly<Record<string, Method>> = {
  "chat.postMessage": { scope: "chat:write", run: postMessage },
  "chat.update": { scope: "chat:write", run: update },
  "chat.delete": { scope: "chat:write", run: remove },
  "chat.postEphemeral": { scope: "chat:write", run: postEphemeral },
  "reactions.add": { scope: "reactions:write", run: addReaction },
  "reactions.remove": { scope: "reactions:write", run: removeReaction },
  "views.open": { scope: undefined, run: openView },
  "assistant.threads.setStatus": { scope: "chat:write", run: setStatus },
  "assistant.threads.setTitle": { scope: "assistant:write", run: setTitle },
  "assistant.threads.setSuggestedPrompts": { scope: "assistant:write", run: setPrompts },
  "agents.sessions.setStatus": { scope: "chat:write", run: setSessionStatus },
};

function postMessage(args: Arguments, context: MethodContext): JsonObject {
  const { workspace, feed, limits } = context;
  const channel = findWritable(args, context);
  const text = readText(args, limits.postLength, limits.markdownLength);
  const isBroadcast = args.flag("reply_broadcast") && args.text("thread_ts") !== undefined;
  const message = workspace.post({
    channel: channel.id,
    text,
    user: workspace.bot.id,
    botId: workspace.bot.botId,
    subtype: isBroadcast ? "thread_broadcast" : undefined,
    threadTs: readThread(args, context, channel),
    blocks: readBlocks(args),
    attachments: args.list("attachments"),
    metadata: readMetadata(args),
  });
  feed.posted(message);
  return { channel: channel.id, ts: message.ts, message: render(message, context) };
}

function openView(args: Arguments, context: MethodContext): JsonObject {
  const refused = context.openView(args.required("trigger_id"), args.json("view"));
  if (refused !== null) throw new ApiError(refused);
  return { view: { id: "V1" } };
}

function update(args: Arguments, context: MethodContext): JsonObject {
  const message = findOwn(args, context, "cant_update_message");
  if (message.streaming === "in_progress") throw new ApiError("streaming_state_conflict");
  const previous = context.feed.render(message);
  const text = readText(args, context.limits.updateLength, context.limits.markdownLength);
  const blocks = readBlocks(args);
  // A stream's text stands in rich text blocks of its own, which stay unless they are replaced.
  const keepsText =
    message.stream !== undefined && blocks === undefined && args.text("markdown_text") === undefined;
  if (!keepsText) message.text = text;
  message.stream?.tasks.clear();
  message.blocks = blocks;
  message.attachments = args.list("attachments");
  message.metadata = readMetadata(args) ?? message.metadata;
  message.edited = { user: context.workspace.bot.id, ts: message.ts };
  context.feed.changed(message, previous);
  return { channel: message.channel, ts: message.ts, text, message: render(message, context) };
}

function remove(args: Arguments, context: MethodContext): JsonObject {
  const message = findOwn(args, context, "cant_delete_message");
  const previous = context.feed.render(message);
  context.workspace.remove(message);
  context.feed.deleted(context.workspace.channel(message.channel), message.ts, previous);
  return { channel: message.channel, ts: message.ts };
}

function postEphemeral(args: Arguments, context: MethodContext): JsonObject {
  const channel = findWritable(args, context);
  const user = args.required("user");
  if (!channel.members.has(user)) throw new ApiError("user_not_in_channel");
  const text = readText(args, context.limits.postLength, context.limits.markdownLength);
  return { message_ts: context.addEphemeral(channel.id, user, text, readBlocks(args)) };
}

function addReaction(args: Arguments, context: MethodContext): JsonObject {
  const message = findMessage(args, context, "timestamp");
  const name = args.required("name");
  const { id } = context.workspace.bot;
  const users = message.reactions.get(name) ?? new Set();
  if (users.has(id)) throw new ApiError("already_reacted");
  message.reactions.set(name, users.add(id));
  context.feed.reacted("reaction_added", message, id, name);
  return {};
}

function removeReaction(args: Arguments, context: MethodContext): JsonObject {
  const message = findMessage(args, context, "timestamp");
  const name = args.required("name");
  const { id } = context.workspace.bot;
  const users = message.reactions.get(name);
  if (users?.delete(id) !== true) throw new ApiError("no_reaction");
  if (users.size === 0) message.reactions.delete(name);
  context.feed.reacted("reaction_removed", message, id, name);
  return {};
}

function setStatus(args: Arguments, context: MethodContext): JsonObject {
  // The real client sends the channel as channel_id here.
  context.setStatus(args.required("channel_id"), args.required("thread_ts"), args.text("status") ?? "");
  return {};
}

function setTitle(args: Arguments): JsonObject {
  for (const name of ["channel_id", "thread_ts", "title"]) args.required(name);
  return {};
}

/** At most four, each with a title and a message. */
function setPrompts(args: Arguments): JsonObject {
  args.required("channel_id");
  const prompts = args.list("prompts") ?? [];
  const areWhole = prompts.every((one) => {
    const { title, message } = Object(one);
    return typeof title === "string" && title !== "" && typeof message === "string" && message !== "";
  });
  if (prompts.length === 0 || prompts.length > 4 || !areWhole) throw new ApiError("invalid_arguments");
  return {};
}

function setSessionStatus(args: Arguments): JsonObject {
  const status = args.required("status");
  if (!["active", "processing", "suspended", "closed"].includes(status))
    throw new ApiError("invalid_arguments");
  args.required("thread_ts");
  return { status };
}

/** The channel of a writing call: an id, `#name`, or a person's id for the direct messages. */
export function findWritable(args: Arguments, context: MethodContext): SlackChannel {
  const { workspace } = context;
  const id = args.required("channel");
  const channel = workspace.users.has(id)
    ? [...workspace.channels.values()].find(({ type, members }) => type === "im" && members.has(id))
    : id.startsWith("#")
      ? [...workspace.channels.values()].find(({ name }) => `#${name}` === id)
      : findChannel(args, context);
  if (channel === undefined) throw new ApiError("channel_not_found");
  if (channel.isArchived) throw new ApiError("is_archived");
  if (!channel.members.has(workspace.bot.id)) throw new ApiError("not_in_channel");
  return channel;
}

/** @throws ApiError `no_text` or `msg_too_long` */
function readText(args: Arguments, mostText: number, mostMarkdown: number): string {
  const markdown = args.text("markdown_text");
  const text = markdown ?? args.text("text");
  if (text === undefined) {
    if (args.text("blocks") === undefined && args.text("attachments") === undefined)
      throw new ApiError("no_text");
    return "";
  }
  if (text.length > (markdown === undefined ? mostText : mostMarkdown)) throw new ApiError("msg_too_long");
  return text;
}

/** @throws ApiError `invalid_blocks` or `msg_blocks_too_long` */
function readBlocks(args: Arguments): unknown {
  const blocks: unknown = args.json("blocks");
  const refusal = refusalOfBlocks(blocks);
  if (refusal !== null) throw new ApiError(refusal);
  return blocks;
}

/** A thread_ts without a message starts that message's own thread, as at Slack; a reply's names its thread. */
export function readThread(
  args: Arguments,
  { workspace }: MethodContext,
  channel: SlackChannel,
): string | undefined {
  const threadTs = args.text("thread_ts");
  if (threadTs === undefined) return undefined;
  const named = workspace.findMessage(channel.id, threadTs);
  return named?.threadTs ?? threadTs;
}

/** @throws ApiError `invalid_metadata_format` */
export function readMetadata(args: Arguments): JsonObject | undefined {
  const metadata = args.object("metadata");
  if (metadata === undefined) return undefined;
  const isWhole = typeof metadata["event_type"] === "string" && typeof metadata["event_payload"] === "object";
  if (!isWhole) throw new ApiError("invalid_metadata_format");
  return metadata;
}

/** @throws ApiError `message_not_found` */
export function findMessage(args: Arguments, context: MethodContext, field = "ts"): SlackMessage {
  const channel = findChannel(args, context);
  const message = context.workspace.findMessage(channel.id, args.required(field));
  if (message === undefined || message.subtype === "tombstone") throw new ApiError("message_not_found");
  return message;
}

function findOwn(args: Arguments, context: MethodContext, refusal: string): SlackMessage {
  const message = findMessage(args, context);
  if (message.botId !== context.workspace.bot.botId) throw new ApiError(refusal);
  return message;
}

/** The bot's own message in the answer, with its metadata. */
export function render(message: SlackMessage, { workspace, origin }: MethodContext): JsonObject {
  return renderMessage(workspace, message, { origin, metadata: true });
}
