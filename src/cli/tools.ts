import { serverTroubles, toolsWithoutRoom } from "../admin/reports/server-list.ts";
import type { AgentEvents, StaffedAgent } from "../agents.ts";
import { openModels } from "../llm/model-provider.ts";
import { tokensOf } from "../mcp/server-tools.ts";
import { formatNumber } from "../text/format.ts";
import { padColumns } from "../text/markdown-table.ts";
import { counted } from "../text/text.ts";
import { asksFirst, type Tool } from "../tools/tool.ts";
import { sourceOf } from "../tools/tools.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { lookAtServer, lookingParts } from "./shared/mcp-servers.ts";
import { createAgentsToLook } from "./shared/agents-to-look.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { findAgent } from "./start.ts";

/**
 * `weir tools`: the tools of each agent. It starts the agents' servers, lists their tools, and ends them again.
 * @throws OperatorError if there is no such agent
 */
export async function showTools(io: Io, agent: string | undefined, options: CommonOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  const wanted =
    agent === undefined ? config.agents : config.agents.filter(({ id }) => id === findAgent(config, agent));
  const parts = lookingParts(io, config);
  const told: AgentEvents = { servers: parts };
  await using models = await openModels(config.llm);
  await using agents = await createAgentsToLook(io, { ...config, agents: wanted }, models, told);
  const texts = await Promise.all(wanted.map(async ({ id }) => describe(agents.of(id))));
  say(io, texts.join("\n\n"));
}

async function describe({ agent, serverTools }: StaffedAgent): Promise<string> {
  serverTools?.start();
  const connections = serverTools?.connections ?? [];
  await Promise.all(connections.map(lookAtServer));
  const { tools } = agent;
  const rows = tools.map((tool) => [
    tool.spec.name,
    sourceOf(tool),
    describeAsking(tool),
    `${formatNumber(tokensOf(tool.spec))} tokens`,
  ]);
  const all = tools.reduce((sum, { spec }) => sum + tokensOf(spec), 0);
  const head = `agent ${agent.config.id}: ${counted(tools.length, "tool")}, about ${formatNumber(all)} tokens in each request`;
  const troubles = connections.flatMap(serverTroubles);
  const leftOut = toolsWithoutRoom(serverTools?.leftOut ?? []);
  return [head, ...padColumns(rows, "  "), ...troubles, ...leftOut].join("\n  ");
}

/** Whether a person has to allow a call first. */
function describeAsking(tool: Tool): string {
  if (asksFirst(tool)) return "asks";
  return tool.asks === "writes" ? "does not ask: read-only, it says" : "does not ask";
}
