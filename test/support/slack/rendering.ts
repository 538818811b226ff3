import type { JsonObject, SlackChannel, SlackFile, SlackMessage, SlackUser, Workspace } from "./model.ts";

/** A message in the form of the Web API and the events. Metadata only on request. */
export function renderMessage(
  workspace: Workspace,
  message: SlackMessage,
  options: { readonly metadata?: boolean; readonly origin: string },
): JsonObject {
  return compact({
    type: "message",
    subtype: message.subtype,
    user: message.user,
    text: message.text,
    ts: message.ts,
    team: workspace.teamId,
    ...renderBot(workspace, message),
    ...renderThread(workspace, message, options.origin),
    files:
      message.files.length === 0 ? undefined : message.files.map((file) => renderFile(file, options.origin)),
    upload: message.files.length === 0 ? undefined : false,
    blocks: message.blocks,
    attachments: message.attachments,
    metadata: options.metadata === true ? message.metadata : undefined,
    edited: message.edited,
    reactions:
      message.reactions.size === 0
        ? undefined
        : [...message.reactions].map(([name, users]) => ({ name, users: [...users], count: users.size })),
    streaming_state: message.streaming,
    ...message.extra,
  });
}

function renderBot(workspace: Workspace, message: SlackMessage): JsonObject {
  if (message.botId === undefined) return {};
  const isOurs = message.botId === workspace.bot.botId;
  const name = isOurs ? workspace.bot.name : "another bot";
  const appId = isOurs ? workspace.appId : "A0OTHERAPP1";
  return {
    bot_id: message.botId,
    app_id: appId,
    bot_profile: {
      id: message.botId,
      app_id: appId,
      name,
      icons: {},
      deleted: false,
      updated: 1_763_000_000,
      team_id: workspace.teamId,
    },
  };
}

function renderThread(workspace: Workspace, message: SlackMessage, origin: string): JsonObject {
  if (message.threadTs !== undefined && message.threadTs !== message.ts) {
    const root = workspace.findMessage(message.channel, message.threadTs);
    const isBroadcast = message.subtype === "thread_broadcast" && root !== undefined;
    return {
      thread_ts: message.threadTs,
      parent_user_id: root?.user,
      root: isBroadcast ? renderMessage(workspace, root, { origin }) : undefined,
    };
  }
  const replies = workspace.repliesTo(message);
  if (replies.length === 0) return {};
  const users = [...new Set(replies.map(({ user }) => user))];
  return {
    thread_ts: message.ts,
    reply_count: replies.length,
    reply_users: users,
    reply_users_count: users.length,
    latest_reply: replies.at(-1)?.ts,
    is_locked: false,
    subscribed: false,
  };
}

export function renderFile(file: SlackFile, origin: string): JsonObject {
  const url = `${origin}/files-pri/T0WEIRTEAM1-${file.id}`;
  return {
    id: file.id,
    created: 1_763_712_000,
    timestamp: 1_763_712_000,
    name: file.name,
    title: file.name,
    mimetype: file.mimetype,
    filetype: file.name.split(".").at(-1) ?? "",
    pretty_type: file.mimetype,
    user: file.user,
    size: file.size,
    mode: "hosted",
    is_external: false,
    is_public: true,
    url_private: `${url}/${file.name}`,
    url_private_download: `${url}/download/${file.name}`,
    permalink: `${origin}/files/${file.user}/${file.id}/${file.name}`,
    ...file.raw,
  };
}

export function renderUser(workspace: Workspace, user: SlackUser): JsonObject {
  return {
    id: user.id,
    team_id: workspace.teamId,
    name: user.name,
    real_name: user.realName,
    deleted: user.isDeleted,
    is_bot: user.isBot,
    is_app_user: false,
    tz: "Europe/Berlin",
    updated: 1_763_000_000,
    profile: compact({
      real_name: user.realName,
      display_name: user.displayName,
      bot_id: user.botId,
      team: workspace.teamId,
    }),
  };
}

export function renderChannel(workspace: Workspace, channel: SlackChannel): JsonObject {
  const isIm = channel.type === "im";
  const common = {
    id: channel.id,
    created: 1_763_000_000,
    is_archived: channel.isArchived,
    is_im: isIm,
    is_org_shared: false,
    is_ext_shared: channel.isConnected,
    is_shared: channel.isConnected,
    is_pending_ext_shared: false,
  };
  if (isIm) {
    const user = [...channel.members].find((member) => member !== workspace.bot.id);
    return { ...common, user, is_user_deleted: false };
  }
  return {
    ...common,
    name: channel.name,
    name_normalized: channel.name,
    is_channel: channel.type === "channel",
    is_group: channel.type === "group",
    is_mpim: channel.type === "mpim",
    is_private: channel.type !== "channel",
    is_member: channel.members.has(workspace.bot.id),
    num_members: channel.members.size,
    topic: { value: "", creator: "", last_set: 0 },
    purpose: { value: "", creator: "", last_set: 0 },
  };
}

/** Without undefined fields, as after a way through JSON. */
function compact(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
