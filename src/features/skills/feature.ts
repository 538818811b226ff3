/**
 * Skills: folders of instructions, which the agent or a person activates in a channel. The folder is read with the agent's other
 * files (`agent-files`); here is which of its skills are active where.
 */

import { mayHaveSkills } from "../../agent-files/agent-folder.ts";
import type { Feature } from "../feature.ts";
import { ActiveSkillStore } from "./active-skill-store.ts";
import { skillCommand } from "./command.ts";
import { type SkillKit, SKILLS } from "./key.ts";
import { activateSkill, deactivateSkill, readSkillFile } from "./tools.ts";
import { hasSkills, useSkill } from "./use-skill.ts";

export const skills: Feature<ActiveSkillStore, SkillKit> = {
  key: SKILLS,
  toolsOf: ({ id }, agentsDir) =>
    agentsDir !== undefined && mayHaveSkills(agentsDir, id)
      ? [activateSkill, deactivateSkill, readSkillFile]
      : [],
  commands: [{ command: skillCommand, after: "agents" }],
  activeTexts: async (database, channel, agent, guest) =>
    hasSkills(agent) ? new ActiveSkillStore(database).names(channel, guest) : [],
  open({ database }) {
    const active = new ActiveSkillStore(database);
    return {
      service: active,
      kitOf: ({ owner, agent, turn }) => ({
        use: async (request) =>
          useSkill({ active, agent, channel: owner.channel, guest: turn.agent }, request),
      }),
      reset: async (channel) => void (await active.deactivate(channel, null)),
    };
  },
};
