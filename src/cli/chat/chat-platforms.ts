import type { Logger } from "pino";
import { commandTable } from "../../admin/commands/commands.ts";
import { COMMANDS } from "../../features/features.ts";
import type { Cluster } from "../../daemon/channels.ts";
import type { BindingConfig, Config } from "../../config/config.ts";
import type { ChatPlatformConfig } from "../../config/chat-platform.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Platform } from "../../platforms/platform.ts";
import { PLATFORM_NAME as LOOPBACK } from "../../platforms/local/loopback/client.ts";
import { PLATFORM_ROWS } from "../../platforms/platforms.ts";
import { PLATFORM_NAME as TERMINAL } from "../../platforms/terminal/intake.ts";
import { type Binding, bindPlatform } from "../../router/bindings.ts";

/**
 * The adapters of the platforms that have a token. Their clients are read only where they are used: half a second and
 * some 50 MB that a chat in the terminal need not pay.
 * @param shardsOf how daemons share the connections to a platform; default: this one has all of them
 */
export async function openChatPlatforms(
  { platforms }: Config,
  log: Logger,
  shardsOf?: Cluster["shardsOf"],
): Promise<Platform[]> {
  const commands = commandTable(COMMANDS);
  const opened: Platform[] = [];
  for (const row of PLATFORM_ROWS) {
    const config = platforms[row.key];
    if (config === null) continue;
    const shardHomes = shardsOf?.(row.key);
    opened.push(await row.open(config, { log, commands, ...(shardHomes && { shardHomes }) }));
  }
  return opened;
}

/**
 * The bindings of all platforms.
 * @param agent answers on platforms without a binding in the file: the terminal and the loopback platform
 * @param named these answer as well, in the terminal's channel of their name
 */
export function bindingsOf(
  { bindings, platforms }: Config,
  agent: AgentId,
  named: readonly AgentId[] = [],
): Binding[] {
  // The operator can try here all that people can ask there.
  const alsoOf = (host: AgentId): Binding["also"] =>
    bindings.find((one) => one.agent === host && one.also.length > 0)?.also ?? [];
  return [
    ...named.map((one) => ({
      ...bindPlatform(TERMINAL, one),
      also: alsoOf(one),
      channels: [one],
      dmNames: [one],
    })),
    { ...bindPlatform(TERMINAL, agent), also: alsoOf(agent) },
    { ...bindPlatform(LOOPBACK, agent), also: alsoOf(agent) },
    ...bindings.map((binding) => withDms(binding, platforms[binding.platform])),
  ];
}

/** Whose DMs are answered is configured by platform, and becomes part of each of its bindings. */
function withDms({ memoryShare, ...written }: BindingConfig, platform: ChatPlatformConfig | null): Binding {
  const binding = { ...written, sharesMemory: memoryShare === "workspace" };
  if (platform === null) return { ...binding, dmAllow: null, dmLetsIn: false };
  return { ...binding, dms: binding.dms && platform.dm !== "off", ...dmRuleOf(binding, platform) };
}

/**
 * People who are not answered in a channel are not answered in a DM either. A DM has no roles, and owners may always ask.
 * People whom a binding names need no code.
 */
function dmRuleOf(
  { allowUsers }: Pick<BindingConfig, "allowUsers">,
  { dm, allow, owners }: ChatPlatformConfig,
): Pick<Binding, "dmAllow" | "dmLetsIn"> {
  const namesPeople = allowUsers.length > 0;
  const listed = namesPeople ? allow.filter((id) => allowUsers.includes(id)) : allow;
  if (dm === "allowlist") return { dmAllow: [...listed, ...owners], dmLetsIn: false };
  if (namesPeople) return { dmAllow: [...allowUsers, ...owners], dmLetsIn: false };
  return dm === "pairing"
    ? { dmAllow: [...allow, ...owners], dmLetsIn: true }
    : { dmAllow: null, dmLetsIn: false };
}
