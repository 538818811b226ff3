import type { Logger } from "pino";
import { commandTable } from "../admin/command-table.ts";
import type { BindingConfig, ChatPlatformConfig, Config } from "../config/config.ts";
import type { AgentId } from "../core/ids.ts";
import { createDiscord } from "../platforms/discord/adapter.ts";
import type { Platform } from "../platforms/platform.ts";
import { createSlack } from "../platforms/slack/adapter.ts";
import { type Binding, bindPlatform } from "../router/bindings.ts";

/** The adapters of the platforms that have a token. */
export function openChatPlatforms({ platforms }: Config, log: Logger): Platform[] {
  const { discord, slack } = platforms;
  const commands = commandTable();
  return [
    ...(discord === null ? [] : [createDiscord({ config: discord, log, commands })]),
    ...(slack === null ? [] : [createSlack({ config: slack, log, commands })]),
  ];
}

/** Who answers where. @param agent answers what has no binding in the file: the terminal and the loopback platform */
export function bindingsOf({ bindings, platforms }: Config, agent: AgentId): Binding[] {
  return [
    bindPlatform("terminal", agent),
    bindPlatform("loopback", agent),
    ...bindings.map((binding) => withDms(binding, platforms[binding.platform])),
  ];
}

/** Whose DMs are wanted is said of a platform, and is a part of each of its bindings. */
function withDms(binding: BindingConfig, platform: ChatPlatformConfig | null): Binding {
  if (platform === null) return { ...binding, dmAllow: null };
  const { dm, allow, owners } = platform;
  return {
    ...binding,
    dms: binding.dms && dm !== "off",
    dmAllow: dm === "allowlist" ? [...allow, ...owners] : null,
  };
}
