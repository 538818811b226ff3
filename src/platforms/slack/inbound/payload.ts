import { z } from "zod";
import { eachReadable, textOrNone } from "../../shared/each-readable.ts";

/** The parts of Slack's events and answers that Weir reads. All other parts may change without notice. */

const edited = z.object({ ts: z.string() });

const slackFile = z.object({
  id: z.string(),
  name: z.string().nullish(),
  title: z.string().nullish(),
  mimetype: z.string().nullish(),
  size: z.number().nullish(),
  /** `tombstone`, `hidden_by_limit`: the file is not available. */
  mode: z.string().nullish(),
  /** `check_file_info`: a file of another workspace, which `files.info` describes. */
  file_access: textOrNone,
  url_private: z.string().nullish(),
  url_private_download: z.string().nullish(),
  /** `slack_audio`: a clip that was recorded in Slack. */
  subtype: textOrNone,
  duration_ms: z.number().min(0).nullish().catch(null),
  /** What Slack has heard in a clip, once it has. */
  transcription: z
    .object({
      preview: z.object({ content: z.string(), has_more: z.boolean().nullish().catch(null) }).nullish(),
    })
    .nullish()
    .catch(null),
});

const block = z.looseObject({ type: z.string() });
const flag = z.boolean().nullish().catch(null);

const slackAttachment = z.object({
  /** Set on a preview of a link in the text, and on a forward. */
  from_url: textOrNone,
  is_msg_unfurl: flag,
  is_app_unfurl: flag,
  /** A message that somebody forwards. */
  is_share: flag,
  pretext: textOrNone,
  author_name: textOrNone,
  title: textOrNone,
  title_link: textOrNone,
  text: textOrNone,
  fields: eachReadable(z.object({ title: textOrNone, value: textOrNone })),
  blocks: eachReadable(block),
  message_blocks: eachReadable(z.object({ message: z.object({ blocks: eachReadable(block) }) })),
  files: eachReadable(slackFile),
  footer: textOrNone,
  fallback: textOrNone,
});
export type SlackAttachment = z.infer<typeof slackAttachment>;

export const slackMessage = z.object({
  ts: z.string(),
  subtype: z.string().nullish(),
  user: z.string().nullish(),
  bot_id: z.string().nullish(),
  /** The author's team, if it is another than the workspace's. */
  user_team: textOrNone,
  team: textOrNone,
  username: z.string().nullish(),
  /** The names of an author from another workspace. */
  user_profile: z
    .object({
      display_name: textOrNone,
      real_name: textOrNone,
      name: textOrNone,
      is_restricted: flag,
      is_ultra_restricted: flag,
    })
    .nullish()
    .catch(null),
  bot_profile: z.object({ name: z.string().nullish() }).nullish(),
  text: z.string().nullish(),
  thread_ts: z.string().nullish(),
  parent_user_id: z.string().nullish(),
  latest_reply: z.string().nullish(),
  blocks: eachReadable(block),
  files: eachReadable(slackFile),
  attachments: eachReadable(slackAttachment),
  edited: edited.nullish(),
  /** What the author looks at, in the direct messages of an agent's app. */
  app_context: z.looseObject({}).nullish().catch(null),
  /** `in_progress`, `completed`, `errored`; left out: it never was a stream. */
  streaming_state: textOrNone,
  metadata: z.object({ event_payload: z.looseObject({ key: z.unknown() }).nullish() }).nullish(),
});

/** A message of the Web API and the events. */
export type SlackMessage = z.infer<typeof slackMessage>;
export type SlackFile = z.infer<typeof slackFile>;

export const changedMessage = z.object({
  channel: z.string(),
  event_ts: z.string(),
  message: slackMessage,
  previous_message: slackMessage.nullish(),
});

export const deletedMessage = z.object({
  channel: z.string(),
  event_ts: z.string(),
  deleted_ts: z.string(),
  previous_message: slackMessage.nullish(),
});

export const saidMessage = slackMessage.extend({ channel: z.string() });

export const reactionEvent = z.object({
  type: z.string(),
  user: z.string(),
  reaction: z.string(),
  item: z.object({ type: z.string(), channel: z.string().nullish(), ts: z.string().nullish() }),
  event_ts: z.string(),
});

export const renameEvent = z.object({ channel: z.object({ id: z.string() }) });

export const idChangedEvent = z.object({ old_channel_id: z.string(), new_channel_id: z.string() });

/** The subtypes of messages that report a conversion. */
export const conversion = z.object({
  channel: z.string(),
  subtype: z.enum(["channel_convert_to_private", "channel_convert_to_public"]),
  ts: z.string().nullish(),
});

/** A reader has pressed the stop button of an answer. */
export const stoppedEvent = z.object({
  channel: z.string(),
  thread_ts: z.string().nullish(),
  user: z.string(),
});

/** A person has opened the app; `tab`: what they see of it. */
export const homeOpenedEvent = z.object({
  user: z.string(),
  channel: z.string(),
  tab: textOrNone,
  context: z.looseObject({}).nullish().catch(null),
});

export const threadStartedEvent = z.object({
  assistant_thread: z.object({ user_id: z.string(), channel_id: z.string(), thread_ts: z.string() }),
});

export const goneEvent = z.object({ channel: z.string(), event_ts: z.string() });

export const eventCallback = z.object({
  event_id: z.string(),
  is_ext_shared_channel: z.boolean().nullish(),
  event: z.looseObject({ type: z.string(), subtype: z.string().nullish() }),
});

export const slashCommand = z.object({
  command: z.string(),
  text: z.string().nullish(),
  channel_id: z.string(),
  user_id: z.string(),
  response_url: z.string(),
  trigger_id: z.string(),
});
export type SlashCommand = z.infer<typeof slashCommand>;

export const buttonPress = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string() }),
  container: z.object({ type: z.literal("message"), message_ts: z.string(), channel_id: z.string() }),
  /** An answered message has its own ts as thread_ts. */
  message: z.object({ thread_ts: z.string().nullish() }).nullish(),
  response_url: z.string(),
  trigger_id: z.string(),
  actions: z.array(z.object({ value: z.string().nullish(), action_ts: z.string().nullish() })).min(1),
});
export type ButtonPress = z.infer<typeof buttonPress>;

/** A form that somebody has sent. */
export const formSubmission = z.object({
  type: z.literal("view_submission"),
  user: z.object({ id: z.string() }),
  view: z.object({
    callback_id: z.string(),
    private_metadata: z.string(),
    state: z.object({
      values: z.record(z.string(), z.record(z.string(), z.object({ value: z.string().nullish() }))),
    }),
  }),
});
export type FormSubmission = z.infer<typeof formSubmission>;

export const messagePage = z.object({
  messages: z.array(slackMessage),
  has_more: z.boolean().nullish(),
  /** The workspace's plan hides older messages. */
  is_limited: z.boolean().nullish(),
  response_metadata: z.object({ next_cursor: z.string().nullish() }).nullish(),
});
export type MessagePage = z.infer<typeof messagePage>;

export const whoAmI = z.object({
  url: z.string().nullish(),
  user_id: z.string(),
  user: z.string().nullish(),
  bot_id: z.string().nullish(),
  team_id: z.string(),
  team: z.string().nullish(),
  response_metadata: z.object({ scopes: z.array(z.string()).nullish() }).nullish(),
});

/** `is_stranger`: of another workspace, and unknown to the bot's. Guests of a workspace are restricted. */
const outside = z.object({
  is_stranger: z.boolean().nullish(),
  is_restricted: z.boolean().nullish(),
  is_ultra_restricted: z.boolean().nullish(),
});
export type Outside = z.infer<typeof outside>;

export const userInfo = z.object({
  user: outside.extend({
    name: z.string().nullish(),
    real_name: z.string().nullish(),
    is_bot: z.boolean().nullish(),
    team_id: z.string().nullish(),
    is_admin: z.boolean().nullish(),
    is_owner: z.boolean().nullish(),
    profile: z.object({ display_name: z.string().nullish(), real_name: z.string().nullish() }).nullish(),
  }),
});

const privacy = z.object({
  /** Of a group DM it is true, or left out. */
  is_private: z.boolean().nullish(),
  is_mpim: z.boolean().nullish(),
  /** Slack Connect: with other organisations. */
  is_ext_shared: z.boolean().nullish(),
  /** With other workspaces of an Enterprise organisation. */
  is_org_shared: z.boolean().nullish(),
});
export type SlackPrivacy = z.infer<typeof privacy>;

export const channelInfo = z.object({
  channel: privacy.extend({ name: z.string().nullish(), user: z.string().nullish() }),
});

const joinedChannel = privacy.extend({
  id: z.string(),
  name: z.string().nullish(),
  user: z.string().nullish(),
  /** Unix time, s. */
  created: z.number().nullish(),
});
export type JoinedChannel = z.infer<typeof joinedChannel>;

export const joinedPage = z.object({
  channels: z.array(joinedChannel),
  response_metadata: z.object({ next_cursor: z.string().nullish() }).nullish(),
});

export const userGroups = z.object({
  usergroups: z.array(z.object({ id: z.string(), handle: z.string().nullish() })),
});

export const fileInfo = z.object({ file: slackFile });

export const posted = z.object({ channel: z.string(), ts: z.string() });
