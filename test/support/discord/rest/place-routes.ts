import { z } from "zod";

import { emitThread, setArchived } from "../messages.ts";
import { applicationFlags, toChannel, toFullMember, toGuild, toThread, toUser } from "../payloads.ts";
import type { ChannelRecord, GuildRecord } from "../records.ts";
import type { State } from "../state.ts";
import { createThread, dmWith } from "../threads.ts";
import { ApiError, missingPermissions, unknownGuild, unknownUser } from "./api-error.ts";
import {
  channelOf,
  messageOf,
  ok,
  param,
  parseBody,
  type RestAnswer,
  type RestCall,
  type Route,
} from "./route.ts";

/** Limits of logins; high, since tests log in often. */
const SESSION_STARTS = { total: 1_000, remaining: 999, reset_after: 86_400_000 };

const threadBody = z.looseObject({ name: z.string().min(1).max(100) });
const channelBody = z.looseObject({ name: z.string().optional(), archived: z.boolean().optional() });
const dmBody = z.looseObject({ recipient_id: z.string() });

export const placeRoutes: readonly Route[] = [
  {
    method: "GET",
    pattern: "/gateway",
    needsNoToken: true,
    handle: ({ state }) => ok({ url: gatewayUrl(state) }),
  },
  {
    method: "GET",
    pattern: "/gateway/bot",
    handle: ({ state }) => {
      const { shards, maxConcurrency } = state.options;
      const limit = { ...SESSION_STARTS, max_concurrency: maxConcurrency };
      return ok({ url: gatewayUrl(state), shards, session_start_limit: limit });
    },
  },
  {
    method: "GET",
    pattern: "/users/@me",
    handle: ({ state }) => ok({ ...toUser(state.bot), verified: true }),
  },
  {
    method: "GET",
    pattern: "/users/@me/guilds",
    handle: ({ state }) => ok([...state.guilds.values()].map(toGuild)),
  },
  { method: "POST", pattern: "/users/@me/channels", handle: openDm },
  { method: "GET", pattern: "/users/:user", handle: user },
  { method: "GET", pattern: "/oauth2/applications/@me", handle: ({ state }) => ok(application(state)) },
  { method: "GET", pattern: "/applications/@me", handle: ({ state }) => ok(application(state)) },
  { method: "GET", pattern: "/guilds/:guild", handle: (call) => ok(toGuild(guildOf(call))) },
  { method: "GET", pattern: "/guilds/:guild/channels", handle: channels },
  { method: "GET", pattern: "/guilds/:guild/emojis", handle: emojis },
  { method: "GET", pattern: "/guilds/:guild/members/:user", handle: member },
  { method: "GET", pattern: "/guilds/:guild/threads/active", handle: activeThreads },
  {
    method: "GET",
    pattern: "/channels/:channel",
    handle: (call) => ok(toChannel(call.state, channelOf(call))),
  },
  { method: "PATCH", pattern: "/channels/:channel", handle: change },
  { method: "POST", pattern: "/channels/:channel/threads", handle: (call) => openThread(call, undefined) },
  {
    method: "POST",
    pattern: "/channels/:channel/messages/:message/threads",
    handle: (call) => openThread(call, messageOf(call, channelOf(call)).id),
  },
  { method: "GET", pattern: "/channels/:channel/threads/archived/public", handle: archivedThreads },
];

function gatewayUrl(state: State): string {
  return `${state.origin.replace("http", "ws")}/gateway`;
}

function application(state: State): object {
  return {
    id: state.bot.id,
    name: state.bot.name,
    icon: null,
    description: "",
    bot_public: true,
    bot_require_code_grant: false,
    verify_key: "",
    team: null,
    summary: "",
    flags: applicationFlags(state),
    bot: toUser(state.bot),
  };
}

function guildOf(call: RestCall): GuildRecord {
  const guild = call.state.guilds.get(param(call, "guild"));
  if (guild === undefined) throw unknownGuild();
  return guild;
}

function user(call: RestCall): RestAnswer {
  const found = call.state.users.get(param(call, "user"));
  if (found === undefined) throw unknownUser();
  return ok(toUser(found));
}

function member(call: RestCall): RestAnswer {
  const found = guildOf(call).members.get(param(call, "user"));
  if (found === undefined) throw new ApiError(404, 10_007, "Unknown Member");
  return ok(toFullMember(call.state, found));
}

function openDm(call: RestCall): RestAnswer {
  const { recipient_id } = parseBody(dmBody, call.body);
  if (!call.state.users.has(recipient_id)) throw unknownUser();
  return ok(toChannel(call.state, dmWith(call.state, recipient_id)));
}

function emojis(call: RestCall): RestAnswer {
  return ok(Array.from(guildOf(call).emojis, ([name, id]) => ({ id, name })));
}

function channels(call: RestCall): RestAnswer {
  const all = call.state.guildChannels(guildOf(call).id).filter((channel) => channel.thread === null);
  return ok(all.map((channel) => toChannel(call.state, channel)));
}

function activeThreads(call: RestCall): RestAnswer {
  const threads = call.state
    .guildChannels(guildOf(call).id)
    .filter((channel) => channel.thread?.isArchived === false && channel.access !== "none");
  return ok({ threads: threads.toReversed().map((thread) => toThread(call.state, thread)), members: [] });
}

/** Newest archived first; `before` is a time. */
function archivedThreads(call: RestCall): RestAnswer {
  const parent = channelOf(call);
  const before = call.query.get("before") ?? "9999";
  const limit = Number(call.query.get("limit") ?? 50);
  const archivedAt = (channel: ChannelRecord): string => channel.thread?.archivedAt ?? "";
  const all = [...call.state.channels.values()]
    .filter((channel) => channel.parentId === parent.id && channel.thread?.isArchived === true)
    .filter((channel) => archivedAt(channel) < before)
    .toSorted((a, b) => archivedAt(b).localeCompare(archivedAt(a)));
  const threads = all.slice(0, limit).map((thread) => toThread(call.state, thread));
  return ok({ threads, members: [], has_more: all.length > limit });
}

function change(call: RestCall): RestAnswer {
  const channel = channelOf(call);
  const body = parseBody(channelBody, call.body);
  if (channel.access === "read") throw missingPermissions();
  if (body.name !== undefined) channel.name = body.name;
  if (channel.thread !== null) {
    if (body.archived === undefined) emitThread(call.state, "THREAD_UPDATE", channel);
    else setArchived(call.state, channel, body.archived);
  }
  return ok(toChannel(call.state, channel));
}

function openThread(call: RestCall, fromMessage: string | undefined): RestAnswer {
  const parent = channelOf(call);
  if (parent.access === "read") throw missingPermissions();
  if (fromMessage !== undefined && call.state.channels.has(fromMessage)) {
    throw new ApiError(400, 160_004, "A thread has already been created for this message");
  }
  const { name } = parseBody(threadBody, call.body);
  const thread = createThread(call.state, parent, { ownerId: call.state.bot.id, name, fromMessage });
  return { status: 201, body: toThread(call.state, thread) };
}
