/** Scopes that the bot's token needs, and why. */
const SCOPES = {
  "app_mentions:read": "mentions",
  "assistant:write":
    "agents: streamed answers, prompts, titles, and the line that says that an answer is being made",
  "channels:history": "messages in public channels",
  "channels:read": "names of public channels",
  "chat:write": "answers",
  commands: "/weir",
  "files:read": "attached files",
  "files:write": "files that the agent attaches",
  "groups:history": "messages in private channels",
  "groups:read": "names of private channels",
  "im:history": "direct messages",
  "im:read": "direct messages",
  "mpim:history": "direct messages of several people",
  "mpim:read": "direct messages of several people",
  "reactions:read": "reactions",
  "reactions:write": "reactions",
  "usergroups:read": "names of user groups",
  "users:read": "names of people",
} as const;

/** Weir works without these, with less. */
const OPTIONAL: ReadonlySet<string> = new Set(["assistant:write", "files:write", "usergroups:read"]);

const EVENTS = [
  "agent_session_stopped",
  "app_context_changed",
  "app_home_opened",
  "app_mention",
  "channel_deleted",
  "channel_id_changed",
  "channel_rename",
  "group_deleted",
  "group_rename",
  "message.channels",
  "message.groups",
  "message.im",
  "message.mpim",
  "reaction_added",
  "reaction_removed",
];

/** At most 300 characters. */
const AGENT_DESCRIPTION =
  "Weir remembers the whole conversation, however long it gets. Ask in a message here, or mention it in a channel. " +
  "Each message that you begin here is a conversation of its own.";

/** Required scopes that a token lacks; none if Slack does not report the token's scopes. */
export function missingScopes(granted: readonly string[]): string[] {
  if (granted.length === 0) return [];
  return Object.keys(SCOPES).filter((scope) => !OPTIONAL.has(scope) && !granted.includes(scope));
}

/** The app manifest of a Slack app with everything that Weir needs. */
export function slackManifest(mode: "socket" | "http"): object {
  const url = "https://your-host.example/slack/events";
  const isSocket = mode === "socket";
  return {
    display_information: { name: "Weir", description: "A chat bot that remembers the conversation" },
    features: {
      agent_view: { agent_description: AGENT_DESCRIPTION },
      app_home: {
        home_tab_enabled: false,
        messages_tab_enabled: true,
        messages_tab_read_only_enabled: false,
      },
      bot_user: { display_name: "weir", always_online: true },
      slash_commands: [
        {
          command: "/weir",
          description: "Ask Weir about itself: /weir help",
          usage_hint: "help",
          should_escape: false,
          ...(isSocket ? {} : { url }),
        },
      ],
    },
    oauth_config: { scopes: { bot: Object.keys(SCOPES) } },
    settings: {
      event_subscriptions: { bot_events: EVENTS, ...(isSocket ? {} : { request_url: url }) },
      interactivity: { is_enabled: true, ...(isSocket ? {} : { request_url: url }) },
      org_deploy_enabled: false,
      socket_mode_enabled: isSocket,
      token_rotation_enabled: false,
    },
  };
}

/** The Slack page that creates an app with this manifest. */
export function manifestLink(mode: "socket" | "http"): string {
  return `https://api.slack.com/apps?new_app=1&manifest_json=${encodeURIComponent(JSON.stringify(slackManifest(mode)))}`;
}
