import { ApiError, type Arguments } from "./arguments.ts";
import { findChannel, type Method, type MethodContext, paginate } from "./method.ts";
import type { JsonObject, SlackChannel, SlackMessage } from "./model.ts";
import { renderChannel, renderMessage } from "./rendering.ts";
import { toMicros } from "./timestamps.ts";

export const conversationMethods: Readonly<Record<string, Method>> = {
  "conversations.history": { scope: "*:history", run: history },
  "conversations.replies": { scope: "*:history", run: replies },
  "conversations.info": { scope: "*:read", run: info },
  "conversations.list": { scope: "channels:read", run: list },
  "users.conversations": { scope: "channels:read", run: listJoined },
  "conversations.members": { scope: "*:read", run: listMembers },
  "conversations.open": { scope: "im:write", run: open },
};

/** Newest first, without replies, except broadcast ones. */
function history(args: Arguments, context: MethodContext): JsonObject {
  const channel = findReadable(args, context);
  const all = context.workspace.topLevel(channel.id).filter(rangeOf(args));
  const inRange = all.filter(({ ts }) => toMicros(ts) >= context.limits.shownFrom * 1000);
  const fromOldest =
    context.limits.oldestPageFirst && args.text("oldest") !== undefined && args.text("latest") === undefined;
  const ordered = fromOldest ? inRange : inRange.toReversed();
  const { page, nextCursor } = paginate(ordered, args, context);
  const shown = answer(fromOldest ? page.toReversed() : page, nextCursor, args, context);
  return inRange.length < all.length ? { ...shown, is_limited: true } : shown;
}

/** Oldest first. The root is on every page, whatever the range. */
function replies(args: Arguments, context: MethodContext): JsonObject {
  const channel = findReadable(args, context);
  const root = context.workspace.findMessage(channel.id, args.required("ts"));
  if (root === undefined) throw new ApiError("thread_not_found");
  const isReply = root.threadTs !== undefined && root.threadTs !== root.ts;
  const inRange = isReply ? [] : context.workspace.repliesTo(root).filter(rangeOf(args));
  const { page, nextCursor } = paginate(inRange, args, context, 1000);
  return answer([root, ...page], nextCursor, args, context);
}

function answer(
  messages: readonly SlackMessage[],
  nextCursor: string,
  args: Arguments,
  { workspace, origin, limits }: MethodContext,
): JsonObject {
  const metadata = limits.givesMetadata && args.flag("include_all_metadata");
  return {
    messages: messages.map((message) => renderMessage(workspace, message, { origin, metadata })),
    has_more: nextCursor !== "",
    ...(nextCursor === "" ? {} : { response_metadata: { next_cursor: nextCursor } }),
  };
}

function rangeOf(args: Arguments): (message: SlackMessage) => boolean {
  const oldest = readTs(args, "oldest") ?? 0;
  const latest = readTs(args, "latest") ?? Number.POSITIVE_INFINITY;
  const isInclusive = args.flag("inclusive");
  return ({ ts }) => {
    const at = toMicros(ts);
    return isInclusive ? at >= oldest && at <= latest : at > oldest && at < latest;
  };
}

function readTs(args: Arguments, name: "oldest" | "latest"): number | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  const micros = toMicros(text);
  if (Number.isNaN(micros)) throw new ApiError(name === "oldest" ? "invalid_ts_oldest" : "invalid_ts_latest");
  return micros;
}

function info(args: Arguments, context: MethodContext): JsonObject {
  return { channel: renderChannel(context.workspace, findChannel(args, context)) };
}

function list(args: Arguments, context: MethodContext): JsonObject {
  const { bot } = context.workspace;
  // An app sees private channels only as a member.
  return listWhere(args, context, ({ type, members }) => type === "channel" || members.has(bot.id));
}

function listJoined(args: Arguments, context: MethodContext): JsonObject {
  const user = args.text("user") ?? context.workspace.bot.id;
  return listWhere(args, context, ({ members }) => members.has(user));
}

const TYPES: Readonly<Record<string, SlackChannel["type"]>> = {
  public_channel: "channel",
  private_channel: "group",
  im: "im",
  mpim: "mpim",
};

function listWhere(
  args: Arguments,
  context: MethodContext,
  isSeen: (channel: SlackChannel) => boolean,
): JsonObject {
  const names = (args.text("types") ?? "public_channel").split(",").map((name) => name.trim());
  const types = new Set(names.map((name) => TYPES[name]));
  if (types.has(undefined)) throw new ApiError("invalid_types");
  const hidesArchived = args.flag("exclude_archived");
  const rows = [...context.workspace.channels.values()].filter(
    (channel) => types.has(channel.type) && isSeen(channel) && !(hidesArchived && channel.isArchived),
  );
  const { page, nextCursor } = paginate(rows, args, context);
  return {
    channels: page.map((channel) => renderChannel(context.workspace, channel)),
    response_metadata: { next_cursor: nextCursor },
  };
}

function listMembers(args: Arguments, context: MethodContext): JsonObject {
  const channel = findChannel(args, context);
  const { page, nextCursor } = paginate([...channel.members], args, context);
  return { members: page, response_metadata: { next_cursor: nextCursor } };
}

function open(args: Arguments, { workspace }: MethodContext): JsonObject {
  const users = args.required("users").split(",");
  if (users.some((user) => !workspace.users.has(user))) throw new ApiError("user_not_found");
  const wanted = new Set([...users, workspace.bot.id]);
  const type = users.length === 1 ? "im" : "mpim";
  const existing = [...workspace.channels.values()].find(
    (channel) => channel.type === type && channel.members.symmetricDifference(wanted).size === 0,
  );
  const channel = existing ?? workspace.addChannel("", type, [...wanted]);
  return { channel: { id: channel.id }, no_op: existing !== undefined, already_open: existing !== undefined };
}

/** @throws ApiError `not_in_channel` */
function findReadable(args: Arguments, context: MethodContext): SlackChannel {
  const channel = findChannel(args, context);
  if (!channel.members.has(context.workspace.bot.id)) throw new ApiError("not_in_channel");
  return channel;
}
