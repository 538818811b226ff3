import { SkillFileError } from "../../agent-files/skill-files.ts";
import { type AgentFile, skillsOf } from "../../context/sections/section.ts";
import { sectionLimits } from "../../context/sections/fit.ts";
import { usableTokens } from "../../context/usage.ts";
import type { AgentId, ChannelId } from "../../core/ids.ts";
import { formatNumber } from "../../text/format.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { ToolFailure } from "../../tools/tool.ts";
import { type Agent, budgetOf } from "../../turn/agent.ts";
import type { ActiveSkillStore } from "./active-skill-store.ts";
import type { SkillRequest } from "./key.ts";

/** Skills that are active in one channel at a time: the text of each is paid for in each request. */
const MOST_ACTIVE = 5;

/** Without any, no turn looks for what is active. */
export function hasSkills({ folder }: Pick<Agent, "folder">): boolean {
  return folder.current.files.some(({ kind }) => kind === "skills");
}

/**
 * Activates or deactivates a skill in a channel, or reads a file of one.
 * @returns the result for the model or a person
 * @throws ToolFailure if it cannot be done, with a message for both
 */
export async function useSkill(
  {
    active: store,
    channel,
    agent,
    guest,
  }: {
    readonly active: ActiveSkillStore;
    readonly channel: ChannelId;
    readonly agent: Agent;
    /** Whose skills; default: the channel's own agent's. */
    readonly guest?: AgentId | undefined;
  },
  request: SkillRequest,
): Promise<string> {
  const active = await store.names(channel, guest);
  if (request.kind === "deactivate") {
    const ended = await store.deactivate(channel, request.name, guest);
    if (ended.length === 0)
      throw new ToolFailure(`"${request.name}" is not active. ${listed("Active", active)}`);
    return `Laid down: ${ended.join(", ")}.`;
  }
  const skills = skillsOf(agent.folder.current);
  const skill = skills.find(({ name }) => name === request.name);
  if (skill === undefined)
    throw new ToolFailure(
      `There is no skill "${request.name}". ${listed(
        "There are",
        skills.map(({ name }) => name),
      )}`,
    );
  if (request.kind === "read") {
    if (!active.includes(skill.name))
      throw new ToolFailure(`"${skill.name}" is not active. Activate it before you read its files.`);
    return fileOf(agent, skill, request.file);
  }
  if (!active.includes(skill.name)) {
    if (active.length >= MOST_ACTIVE)
      throw new ToolFailure(
        `${MOST_ACTIVE} skills are active already, and no more may be. ${listed("Lay one down first", active)}`,
      );
    refuseTooLong(agent, skill);
    await store.activate(channel, skill.name, guest);
  }
  const files = await agent.folder.skillFiles(skill);
  return `Active: ${skill.name}. Its instructions stand in your folder's part of the prompt now. ${listed("Its files", files)}`;
}

function refuseTooLong(agent: Agent, skill: AgentFile): void {
  const tokens = estimateTokens(skill.text);
  const room = sectionLimits(usableTokens(budgetOf(agent, agent.config.model))).tokens / 2;
  if (tokens > room)
    throw new ToolFailure(
      `"${skill.name}" has about ${formatNumber(tokens)} tokens, and one skill may have ${formatNumber(Math.floor(room))} with this model.`,
    );
}

async function fileOf({ folder }: Agent, skill: AgentFile, file: string): Promise<string> {
  try {
    return await folder.readSkillFile(skill, file);
  } catch (error) {
    if (!(error instanceof SkillFileError)) throw error;
    const files = await folder.skillFiles(skill);
    throw new ToolFailure(`${error.message} ${listed("Its files", files)}`, { cause: error });
  }
}

function listed(head: string, names: readonly string[]): string {
  return `${head}: ${names.length === 0 ? "none" : names.join(", ")}.`;
}
