/**
 * Skills: folders of instructions, which the agent or a person activates in a channel. The folder is read with the agent's other
 * files (`agent-files`); here is which of its skills are active where.
 */

import { z } from "zod";
import { mayHaveSkills } from "../../agent-files/agent-folder.ts";
import { skillsOf } from "../../context/sections/section.ts";
import type { AgentId } from "../../core/ids.ts";
import { displayableLine } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import type { Feature, FeatureList, FeatureSetup } from "../feature.ts";
import { ActiveSkillStore } from "./active-skill-store.ts";
import { describeSkill, HOW_TO, skillCommand } from "./command.ts";
import { type SkillKit, SKILLS, type SkillRequest } from "./key.ts";
import { hasSkills, useSkill } from "./use-skill.ts";
import { defineTool, type ToolContext, type ToolOutcome } from "../../tools/tool.ts";

const Name = z.string().trim().min(1).max(64);

async function useBy({ kitOf }: ToolContext, request: SkillRequest): Promise<ToolOutcome> {
  return { kind: "result", text: await kitOf(SKILLS).use(request), references: [] };
}

const SOURCE = "skill";

/** `activate_skill`: a skill's text stands in the prompt until it is deactivated. */
const activateSkill = defineTool({
  name: "activate_skill",
  changesTexts: true,
  source: SOURCE,
  input: z.strictObject({ name: Name }),
  run: async ({ name }, context) => useBy(context, { kind: "activate", name }),
});

/** `deactivate_skill`: its text stands there no longer. */
const deactivateSkill = defineTool({
  name: "deactivate_skill",
  changesTexts: true,
  source: SOURCE,
  input: z.strictObject({ name: Name }),
  run: async ({ name }, context) => useBy(context, { kind: "deactivate", name }),
});

/** `read_skill_file`: a file of an active skill. */
const readSkillFile = defineTool({
  name: "read_skill_file",
  source: SOURCE,
  input: z.strictObject({ name: Name, file: z.string().trim().min(1).max(500) }),
  isReadOnly: true,
  run: async ({ name, file }, context) => useBy(context, { kind: "read", name, file }),
});

export const skills: Feature<ActiveSkillStore, SkillKit> = {
  key: SKILLS,
  toolsOf: ({ id }, agentsDir) =>
    agentsDir !== undefined && mayHaveSkills(agentsDir, id)
      ? [activateSkill, deactivateSkill, readSkillFile]
      : [],
  commands: [{ command: skillCommand, after: "agents" }],
  activeTexts: async (database, channel, agent, guest) =>
    hasSkills(agent) ? new ActiveSkillStore(database).names(channel, guest) : [],
  open({ database, setup }) {
    const active = new ActiveSkillStore(database);
    return {
      service: active,
      kitOf: ({ owner, agent, turn }) => ({
        use: async (request) =>
          useSkill({ active, agent, channel: owner.channel, guest: turn.agent }, request),
      }),
      list: async ({ limit }) => listOf(setup(), await active.everywhere(), limit),
      reset: async (channel) => void (await active.deactivate(channel, null)),
    };
  },
};

/** The skills of all agents, and in how many channels each is active; also those that are active without their file. Pure. */
function listOf(
  { agents }: FeatureSetup,
  active: readonly { readonly agent: AgentId; readonly name: string; readonly channels: number }[],
  limit: number,
): FeatureList {
  const known = [...agents.all()].flatMap(({ agent }) =>
    skillsOf(agent.folder.current).map((skill) => ({ agent: agent.config.id, skill })),
  );
  const channelsOf = (agent: AgentId, name: string): number =>
    active.find((one) => one.agent === agent && one.name === name)?.channels ?? 0;
  const gone = active.filter(
    (one) => !known.some(({ agent, skill }) => agent === one.agent && skill.name === one.name),
  );
  const texts = [
    ...known.map(({ agent, skill }) => {
      const channels = channelsOf(agent, skill.name);
      return `${agent}: ${describeSkill(skill, channels === 0 ? "" : `active in ${counted(channels, "channel")}`)}`;
    }),
    ...gone.map(({ agent, name, channels }) =>
      displayableLine(`${agent}: ${name} (active in ${counted(channels, "channel")}, but its file is gone)`),
    ),
  ];
  return {
    label: "Skills",
    lines: texts.slice(0, limit).map((text) => ({ channel: null, text })),
    isMore: texts.length > limit,
    howTo: HOW_TO,
  };
}
