import { ChannelType, type ComponentType } from "discord.js";
import { z } from "zod";
import { eachReadable, textOrNone } from "../../shared/each-readable.ts";

/** The parts of Discord's payloads, from gateway and REST, that Weir reads. Other parts are dropped. */

export const userPayload = z.object({
  id: z.string(),
  username: z.string(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});
export type UserPayload = z.infer<typeof userPayload>;

export const memberPayload = z.object({ nick: z.string().nullish(), roles: z.array(z.string()).default([]) });
export type MemberPayload = z.infer<typeof memberPayload>;

const fullMember = memberPayload.extend({ user: userPayload });

const attachment = z.object({
  filename: z.string(),
  /** The name that its sender gave it, often without an ending. */
  title: textOrNone,
  content_type: textOrNone,
  size: z.number().default(0).catch(0),
  url: z.string(),
  /** Of a voice message, s. */
  duration_secs: z.number().min(0).nullish().catch(null),
  waveform: textOrNone,
});
export type AttachmentPayload = z.infer<typeof attachment>;

const embed = z.object({
  /** `rich`: written by a bot; `link`, `video` and others: a preview, by Discord. */
  type: textOrNone,
  author: z.object({ name: textOrNone }).nullish().catch(null),
  title: textOrNone,
  url: textOrNone,
  description: textOrNone,
  fields: eachReadable(z.object({ name: z.string(), value: z.string() })),
  image: z.object({}).nullish().catch(null),
  footer: z.object({ text: textOrNone }).nullish().catch(null),
});
export type EmbedPayload = z.infer<typeof embed>;

/** A part of a message in components. Which of these fields a type has is Discord's. */
export interface ComponentPayload {
  readonly type: ComponentType;
  readonly content?: string | null | undefined;
  readonly label?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly components: readonly ComponentPayload[];
  readonly accessory?: ComponentPayload | null | undefined;
  readonly items: readonly { readonly description?: string | null | undefined }[];
}
const component: z.ZodType<ComponentPayload> = z.lazy(() =>
  z.object({
    type: z.custom<ComponentType>((value) => typeof value === "number"),
    content: textOrNone,
    label: textOrNone,
    url: textOrNone,
    description: textOrNone,
    components: componentsPayload,
    accessory: component.nullish().catch(null),
    items: eachReadable(z.object({ description: textOrNone })),
  }),
);
export const componentsPayload = eachReadable(component);

const mention = userPayload.extend({ member: memberPayload.partial().optional().catch(undefined) });

const poll = z.object({
  question: z.object({ text: textOrNone }),
  answers: eachReadable(z.object({ poll_media: z.object({ text: textOrNone }) })),
});

/** The parts of a message that people see. A forward has them without an author. */
const seen = z.object({
  content: textOrNone.transform((text) => text ?? ""),
  attachments: eachReadable(attachment),
  embeds: eachReadable(embed),
  components: eachReadable(component),
  mentions: eachReadable(mention),
  sticker_items: eachReadable(z.object({ name: z.string() })),
  poll: poll.nullish().catch(null),
});
export type SeenPayload = z.infer<typeof seen>;

const snapshots = eachReadable(z.object({ message: seen }));

/** The message to which one replies. */
const quotedPayload = seen.extend({
  id: z.string(),
  type: z.number().default(0),
  author: userPayload,
  webhook_id: z.string().optional(),
  timestamp: z.string(),
  edited_timestamp: z.string().nullish(),
  message_snapshots: snapshots,
});
export type QuotedPayload = z.infer<typeof quotedPayload>;

/** The fields of every event of a channel. */
const place = { channel_id: z.string(), guild_id: z.string().optional() };

export const messagePayload = quotedPayload.extend({
  ...place,
  channel_type: z.number().optional(),
  member: memberPayload.optional(),
  /** Of a webhook that an application has made. */
  application_id: textOrNone,
  /** Somebody's command or button to which a bot answers by its webhook. */
  interaction_metadata: z.unknown().optional(),
  nonce: z.union([z.string(), z.number()]).nullish(),
  mention_roles: eachReadable(z.string()),
  message_reference: z.object({ type: z.number().optional(), message_id: z.string().optional() }).nullish(),
  referenced_message: quotedPayload.nullish().catch(null),
});
export type MessagePayload = z.infer<typeof messagePayload>;
export const messagesPayload = z.array(messagePayload);

/** An update may hold only the ids and the changes. */
export const updatePayload = z.object({
  id: z.string(),
  ...place,
  channel_type: z.number().optional(),
  edited_timestamp: z.string().nullish(),
  author: z.object({ id: z.string() }).optional(),
});

export const placePayload = z.object(place);
export const deletionPayload = z.object({ id: z.string(), ...place });
export const bulkDeletionPayload = z.object({ ids: z.array(z.string()), ...place });

export const emojiPayload = z.object({ id: z.string().nullish(), name: z.string().nullish() });

export const reactionPayload = z.object({
  user_id: z.string(),
  message_id: z.string(),
  ...place,
  member: fullMember.optional(),
  emoji: emojiPayload,
});
export type ReactionPayload = z.infer<typeof reactionPayload>;

/** Without a person: everybody's; without an emoji: all emoji. */
export const reactionRemovalPayload = z.object({
  message_id: z.string(),
  user_id: z.string().optional(),
  emoji: emojiPayload.optional(),
  ...place,
});
export type ReactionRemovalPayload = z.infer<typeof reactionRemovalPayload>;

const permissionOverwrite = z.object({ id: z.string(), allow: z.string(), deny: z.string() });

export const channelPayload = z.object({
  id: z.string(),
  type: z.number(),
  guild_id: z.string().optional(),
  name: z.string().nullish(),
  parent_id: z.string().nullish(),
  last_message_id: z.string().nullish(),
  recipients: z.array(userPayload).optional(),
  /** Unreadable or missing: the channel's privacy is unknown. */
  permission_overwrites: z.array(permissionOverwrite).optional().catch(undefined),
});
export type ChannelPayload = z.infer<typeof channelPayload>;

const role = z.object({
  id: z.string(),
  name: z.string(),
  /** Bits, in decimal. */
  permissions: z.string().optional().catch(undefined),
  tags: z.object({ bot_id: z.string().optional() }).optional(),
});

export const guildPayload = z.object({
  id: z.string(),
  name: z.string(),
  roles: z.array(role).default([]),
  channels: z.array(channelPayload).optional(),
  threads: z.array(channelPayload).optional(),
});
export type GuildPayload = z.infer<typeof guildPayload>;

export const guildLeftPayload = z.object({ id: z.string(), unavailable: z.boolean().optional() });
export const rolePayload = z.object({ guild_id: z.string(), role });
export const roleGonePayload = z.object({ guild_id: z.string(), role_id: z.string() });
/** A channel, a server, or a role of one. */
export const privacyPayload = z.object({ id: z.string().optional(), guild_id: z.string().optional() });
export const channelsPayload = z.array(channelPayload);
export const activeThreadsPayload = z.object({ threads: z.array(channelPayload) });
export const threadsPayload = z.object({ guild_id: z.string(), threads: z.array(channelPayload) });

/** The gateway's address and login limit; `reset_after` in ms. */
export const gatewayPayload = z.object({
  url: z.string(),
  shards: z.number().default(1),
  session_start_limit: z.object({
    total: z.number(),
    remaining: z.number(),
    reset_after: z.number(),
    max_concurrency: z.number().default(1),
  }),
});

export const readyPayload = z.object({
  user: userPayload,
  application: z.object({ id: z.string() }),
  guilds: z.array(z.object({ id: z.string() })),
  session_id: z.string(),
  resume_gateway_url: z.string(),
});

export const interactionPayload = z.object({
  id: z.string(),
  application_id: z.string(),
  type: z.number(),
  token: z.string(),
  guild_id: z.string().optional(),
  channel_id: z.string().optional(),
  member: fullMember.optional(),
  user: userPayload.optional(),
  data: z
    .object({
      name: z.string().optional(),
      options: z.array(z.object({ name: z.string(), value: z.unknown() })).optional(),
      /** A pressed button's, or a form's. */
      custom_id: z.string().optional(),
      /** Of a form: a label round each text. */
      components: z
        .array(z.object({ component: z.object({ value: z.string() }).optional().catch(undefined) }))
        .optional()
        .catch(undefined),
    })
    .optional(),
});
export type InteractionPayload = z.infer<typeof interactionPayload>;

const THREAD_TYPES: ReadonlySet<number> = new Set([
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
  ChannelType.AnnouncementThread,
]);

/** A thread of a channel, or a forum post. */
export function isThreadType(type: number): boolean {
  return THREAD_TYPES.has(type);
}
