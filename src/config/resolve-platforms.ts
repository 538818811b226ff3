import type { AgentId } from "../core/ids.ts";
import {
  type BindingConfig,
  CHAT_PLATFORMS,
  type ChatPlatformConfig,
  type DiscordConfig,
  type PlatformsConfig,
  type SlackConfig,
} from "./config.ts";
import { DEFAULT_BINDING, DEFAULT_CHAT_PLATFORM, DEFAULT_LOOPBACK, DEFAULT_SLACK } from "./defaults.ts";
import type { References } from "./references.ts";
import type { FileConfig } from "./schema.ts";

type FilePlatforms = NonNullable<FileConfig["platforms"]>;
type FileBinding = NonNullable<FileConfig["bindings"]>[number];

/** A platform is on where it has its token. */
export function resolvePlatforms(file: FilePlatforms, references: References): PlatformsConfig {
  const loopbackUrl = file.loopback?.url ?? "";
  return {
    loopback:
      loopbackUrl === ""
        ? null
        : {
            url: loopbackUrl,
            maxTextLength: file.loopback?.max_text_length ?? DEFAULT_LOOPBACK.maxTextLength,
          },
    discord: resolveDiscord(file.discord ?? {}, references),
    slack: resolveSlack(file.slack ?? {}, references),
  };
}

function resolveDiscord(
  file: NonNullable<FilePlatforms["discord"]>,
  { discordToken }: References,
): DiscordConfig | null {
  return discordToken === null ? null : { token: discordToken, ...resolveChat(file) };
}

function resolveSlack(file: NonNullable<FilePlatforms["slack"]>, references: References): SlackConfig | null {
  const { slackBotToken: botToken, slackAppToken: appToken, slackSigningSecret: signingSecret } = references;
  if (botToken === null) return null;
  const shared = { botToken, ...resolveChat(file) };
  if ((file.mode ?? DEFAULT_SLACK.mode) === "socket")
    return appToken === null ? null : { ...shared, intake: { mode: "socket", appToken } };
  if (signingSecret === null) return null;
  const { host, port } = hostAndPort(file.listen ?? DEFAULT_SLACK.listen);
  return { ...shared, intake: { mode: "http", signingSecret, host, port } };
}

function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return {
    host: address.slice(0, colon).replaceAll(/[[\]]/g, ""),
    port: Number(address.slice(colon + 1)),
  };
}

function resolveChat(
  file: NonNullable<FilePlatforms["discord"]> | NonNullable<FilePlatforms["slack"]>,
): ChatPlatformConfig {
  const apiUrl = file.api_url ?? "";
  return {
    apiUrl: apiUrl === "" ? null : apiUrl.replace(/\/+$/, ""),
    dm: file.dm ?? DEFAULT_CHAT_PLATFORM.dm,
    allow: file.allow ?? [],
    owners: file.owners ?? [],
    ownerRoles: file.owner_roles ?? [],
    catchUpMaxAgeMs: file.catch_up_max_age_ms ?? DEFAULT_CHAT_PLATFORM.catchUpMaxAgeMs,
  };
}

/** Without any binding, the first agent answers DMs and mentions everywhere, and listens to nothing else. */
export function resolveBindings(
  file: readonly FileBinding[] | undefined,
  agents: readonly { readonly id: AgentId }[],
): BindingConfig[] {
  const agentOf = (name: string): AgentId[] => agents.filter(({ id }) => id === name).map(({ id }) => id);
  if (file !== undefined)
    return file.flatMap((binding) => agentOf(binding.agent).map((agent) => resolveBinding(binding, agent)));
  const first = agents.slice(0, 1);
  return CHAT_PLATFORMS.flatMap((platform) =>
    first.map(({ id }) => resolveBinding({ platform, listen: false }, id)),
  );
}

function resolveBinding(file: Omit<FileBinding, "agent">, agent: AgentId): BindingConfig {
  return {
    agent,
    platform: file.platform,
    workspaces: file.workspaces ?? [],
    channels: file.channels ?? [],
    threads: file.threads ?? DEFAULT_BINDING.threads,
    dms: file.dms ?? DEFAULT_BINDING.dms,
    mentionRequired: file.mention_required ?? DEFAULT_BINDING.mentionRequired,
    listen: file.listen ?? DEFAULT_BINDING.listen,
    allowUsers: file.allow_users ?? [],
    allowRoles: file.allow_roles ?? [],
    allowBots: file.allow_bots ?? DEFAULT_BINDING.allowBots,
    rateLimit: file.rate_limit ?? DEFAULT_BINDING.rateLimit,
    streaming: file.streaming ?? DEFAULT_BINDING.streaming,
    acknowledge: file.acknowledge ?? DEFAULT_BINDING.acknowledge,
  };
}
