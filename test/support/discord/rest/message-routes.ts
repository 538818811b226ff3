import { ChannelType } from "discord.js";
import { deleteMessages, editMessage, postMessage, setReaction } from "../messages.ts";
import { toMessage } from "../message-payload.ts";
import type { ChannelRecord, MessageRecord } from "../records.ts";
import { compareIds } from "../snowflake.ts";
import type { State } from "../state.ts";
import {
  cannotEditOthers,
  cannotReply,
  invalidForm,
  missingPermissions,
  threadArchived,
  unknownEmoji,
  unknownUser,
  wrongChannelType,
} from "./api-error.ts";
import {
  permittedEmbeds,
  readMessageBody,
  refuseEmpty,
  refuseTextInBox,
  storeUploads,
  type MessageBody,
} from "./message-body.ts";
import {
  channelOf,
  messageOf,
  noContent,
  ok,
  param,
  type RestAnswer,
  type RestCall,
  type Route,
} from "./route.ts";

const MESSAGES = "/channels/:channel/messages";
const MESSAGE = `${MESSAGES}/:message`;
const REACTION = `${MESSAGE}/reactions/:emoji`;

export const messageRoutes: readonly Route[] = [
  { method: "GET", pattern: MESSAGES, handle: list },
  { method: "POST", pattern: MESSAGES, handle: create },
  { method: "GET", pattern: MESSAGE, handle: get },
  { method: "PATCH", pattern: MESSAGE, handle: edit },
  { method: "DELETE", pattern: MESSAGE, handle: remove },
  { method: "PUT", pattern: `${REACTION}/@me`, handle: (call) => react(call, call.state.bot.id, true) },
  { method: "DELETE", pattern: `${REACTION}/@me`, handle: (call) => react(call, call.state.bot.id, false) },
  {
    method: "DELETE",
    pattern: `${REACTION}/:user`,
    handle: (call) => react(call, param(call, "user"), false),
  },
  { method: "GET", pattern: REACTION, handle: listReaction },
  { method: "POST", pattern: "/channels/:channel/typing", handle: type },
];

function render(state: State, message: MessageRecord): object {
  return toMessage(state, message, state.options.allowsMessageContent);
}

/**
 * Newest first, whatever was requested; `after` gives the messages that follow directly. Empty without the permission
 * to read them.
 */
/** @throws ApiError 50024 for a forum, which has threads alone */
function speakableOf(call: RestCall): ChannelRecord {
  const channel = channelOf(call);
  if (channel.type === ChannelType.GuildForum) throw wrongChannelType();
  return channel;
}

function list(call: RestCall): RestAnswer {
  const channel = speakableOf(call);
  const limit = Number(call.query.get("limit") ?? 50);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw invalidForm("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.");
  }
  const history = channel.access === "no_history" ? [] : call.state.history(channel);
  const page = pageOf(history, call.query, limit);
  return ok(page.toReversed().map((message) => render(call.state, message)));
}

function pageOf(history: readonly MessageRecord[], query: URLSearchParams, limit: number): MessageRecord[] {
  const after = query.get("after");
  if (after !== null) return history.filter(({ id }) => compareIds(id, after) > 0).slice(0, limit);
  const before = query.get("before");
  if (before !== null) return history.filter(({ id }) => compareIds(id, before) < 0).slice(-limit);
  const around = query.get("around");
  if (around === null) return history.slice(-limit);
  const older = history.filter(({ id }) => compareIds(id, around) < 0);
  const rest = history.filter(({ id }) => compareIds(id, around) >= 0);
  const half = Math.floor(limit / 2);
  return [...older.slice(-half), ...rest.slice(0, limit - half)].slice(0, limit);
}

function create(call: RestCall): RestAnswer {
  const channel = speakableOf(call);
  if (channel.access === "read") throw missingPermissions();
  if (channel.thread?.isLocked === true) throw threadArchived();
  const body = readMessageBody(call.body);
  refuseEmpty(call, body);
  const earlier = sameNonce(call.state, channel, body);
  if (earlier !== null) return ok(render(call.state, earlier));
  const id = call.state.ids.next();
  const message = postMessage(call.state, {
    id,
    channelId: channel.id,
    authorId: call.state.bot.id,
    content: body.content ?? "",
    replyTo: answeredBy(call.state, channel, body),
    nonce: body.nonce ?? null,
    embeds: permittedEmbeds(channel, body) ?? [],
    components: body.components ?? [],
    files: storeUploads(call, channel.id, id),
    allowedMentions: body.allowed_mentions ?? null,
  });
  if (body.nonce !== undefined && body.nonce !== null) {
    call.state.nonces.set(`${channel.id}:${body.nonce}`, { messageId: id, at: performance.now() });
  }
  return ok(render(call.state, message));
}

/** With `enforce_nonce`: a message of the same nonce from the last minutes, if any. */
function sameNonce(state: State, channel: ChannelRecord, body: MessageBody): MessageRecord | null {
  if (body.enforce_nonce !== true) return null;
  if (body.nonce === undefined || body.nonce === null) {
    throw invalidForm("nonce", "BASE_TYPE_REQUIRED", "This field is required");
  }
  const known = state.nonces.get(`${channel.id}:${body.nonce}`);
  if (known === undefined || performance.now() - known.at > state.options.nonceLifeMs) return null;
  return state.messages.get(known.messageId) ?? null;
}

function answeredBy(state: State, channel: ChannelRecord, body: MessageBody): string | null {
  const id = body.message_reference?.message_id;
  if (id === undefined) return null;
  if (channel.access === "no_history") throw cannotReply();
  if (state.messages.get(id)?.channelId === channel.id) return id;
  if (body.message_reference?.fail_if_not_exists === false) return null;
  throw invalidForm("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message");
}

function get(call: RestCall): RestAnswer {
  const channel = channelOf(call);
  if (channel.access === "no_history") throw missingPermissions();
  return ok(render(call.state, messageOf(call, channel)));
}

function edit(call: RestCall): RestAnswer {
  const channel = channelOf(call);
  // Unlike a new message, an edit does not reopen it.
  if (channel.thread?.isArchived === true) throw threadArchived();
  const message = messageOf(call, channel);
  if (message.authorId !== call.state.bot.id) throw cannotEditOthers();
  const body = readMessageBody(call.body);
  refuseTextInBox(message, body);
  editMessage(call.state, message, {
    content: body.content === null ? "" : body.content,
    embeds: permittedEmbeds(channel, body),
    components: body.components ?? undefined,
    files: storeUploads(call, channel.id, message.id),
    allowedMentions: body.allowed_mentions ?? undefined,
  });
  return ok(render(call.state, message));
}

function remove(call: RestCall): RestAnswer {
  const channel = channelOf(call);
  const message = messageOf(call, channel);
  if (message.authorId !== call.state.bot.id) throw missingPermissions();
  deleteMessages(call.state, channel, [message.id], false);
  return noContent;
}

function react(call: RestCall, userId: string, isOn: boolean): RestAnswer {
  const channel = channelOf(call);
  if (channel.access === "read" && isOn) throw missingPermissions();
  const message = messageOf(call, channel);
  const emoji = param(call, "emoji");
  if (!isEmoji(call, emoji)) throw unknownEmoji();
  setReaction(call.state, message, userId, emoji, isOn);
  return noContent;
}

/** A Unicode emoji, or `name:id` of an emoji in one of the bot's guilds. */
function isEmoji(call: RestCall, emoji: string): boolean {
  if (/^(?:\p{RGI_Emoji}|\p{Extended_Pictographic})$/v.test(emoji)) return true;
  const [name = "", id = ""] = emoji.split(":");
  return [...call.state.guilds.values()].some((guild) => id !== "" && guild.emojis.get(name) === id);
}

function listReaction(call: RestCall): RestAnswer {
  const users = messageOf(call, channelOf(call)).reactions.get(param(call, "emoji")) ?? new Set();
  return ok(
    [...users].map((id) => {
      const user = call.state.users.get(id);
      if (user === undefined) throw unknownUser();
      return { id, username: user.name, discriminator: "0", global_name: user.globalName, avatar: null };
    }),
  );
}

function type(call: RestCall): RestAnswer {
  if (channelOf(call).access === "read") throw missingPermissions();
  return noContent;
}
