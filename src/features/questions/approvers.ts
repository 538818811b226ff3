import type { Logger } from "pino";
import type { CommandParts } from "../../admin/commands/command.ts";
import { type ChatPlatform, CHAT_PLATFORMS, chatPlatform } from "../../platforms/platforms.ts";
import { asksFirst } from "../../tools/tool.ts";
import type { Agent } from "../../turn/agent.ts";
import type { FeatureSetup } from "../feature.ts";

/** Whether any call of the agent may have to wait, also of a server whose tools are not known yet. Pure. */
export function mayAsk({ tools, config }: Pick<Agent, "tools" | "config">): boolean {
  return config.mcp.some(({ approve }) => approve !== "never") || tools.some(asksFirst);
}

/** The agent's configured approvers on a platform, as `discord:ID`; empty: its owners are. Pure. */
export function namedOn({ config }: Pick<Agent, "config">, platform: string): readonly string[] {
  return config.approvals.approvers.filter((one) => one.startsWith(`${platform}:`));
}

export function hasApprover(agent: Pick<Agent, "config">, platform: string, owners: ChatOwners): boolean {
  const chat = chatPlatform(platform);
  if (chat === undefined) return true;
  const { owners: people = [], ownerRoles = [] } = owners[chat] ?? {};
  return namedOn(agent, platform).length + people.length + ownerRoles.length > 0;
}

type ChatOwners = Pick<CommandParts["owners"], ChatPlatform>;

/** Logs agents whose calls may need an approval although no approver is configured. */
export function warnOfApprovers({ agents, config: { platforms } }: FeatureSetup, log: Logger): void {
  for (const { agent } of agents.all())
    for (const platform of CHAT_PLATFORMS)
      if (mayAsk(agent) && platforms[platform] !== null && !hasApprover(agent, platform, platforms))
        log.warn({ agent: agent.config.id, platform }, "no_approvers: name them under [agents.approvals]");
}
