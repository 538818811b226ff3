import { SKILLS } from "./key.ts";
import { useSkill } from "./use-skill.ts";
import { type AgentFile, skillsOf } from "../../context/sections/section.ts";
import { displayableLine } from "../../text/displayable.ts";
import { ToolFailure } from "../../tools/tool.ts";
import {
  type AskedCommand,
  type Command,
  type CommandParts,
  placeName,
} from "../../admin/commands/command.ts";

export const skillCommand: Command = {
  name: "skill",
  help: "the agent's skills, and which it has taken up here",
  argument: { name: "what", form: "on NAME | off [NAME]", help: "take one up here, or lay it down" },
  allowed: "owners",
  effect: "changes the agent's instructions for everybody here",
  run: skill,
};

async function skill(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument, typed } = command;
  const [word = "", name = "", ...more] = argument.split(/\s+/);
  if (word === "") return list(parts, command);
  if (word === "off" && name === "") {
    const ended = await parts.serviceOf(SKILLS).deactivate(channel.id, null);
    return ended.length === 0 ? "No skill was active here." : `Laid down: ${ended.join(", ")}.`;
  }
  if ((word !== "on" && word !== "off") || name === "" || more.length > 0)
    return `This is ${typed("skill")}, ${typed("skill on NAME")} or ${typed("skill off [NAME]")}.`;
  const kind = word === "on" ? "activate" : "deactivate";
  try {
    const { serviceOf, agentOf } = parts;
    const where = { active: serviceOf(SKILLS), agent: agentOf(channel), channel: channel.id };
    return displayableLine(await useSkill(where, { kind, name }));
  } catch (error) {
    if (error instanceof ToolFailure) return displayableLine(error.message);
    throw error;
  }
}

async function list({ serviceOf, agentOf }: CommandParts, { channel, typed }: AskedCommand): Promise<string> {
  const active = await serviceOf(SKILLS).names(channel.id);
  const skills = skillsOf(agentOf(channel).folder.current);
  const gone = active.filter((name) => !skills.some((one) => one.name === name));
  if (skills.length + gone.length === 0) return `This agent has no skills. ${HOW_TO}`;
  const lines = [
    ...skills.map((one) => `- ${describeSkill(one, active.includes(one.name) ? "active" : "")}`),
    ...gone.map((name) => `- ${displayableLine(name)} (active, but its file is gone)`),
  ];
  return [
    `Skills that can be taken up in ${placeName(channel)}:`,
    ...lines,
    `${typed("skill on NAME")} and ${typed("skill off NAME")} change that; the agent does so itself, too.`,
  ].join("\n");
}

export const HOW_TO = "A skill is a folder with a SKILL.md under its agent's folder of skills.";

/** `tides (active): how to read them`. Pure. @param where it is active, in words; "": nowhere */
export function describeSkill({ name, description }: AgentFile, where: string): string {
  return `${name}${where === "" ? "" : ` (${where})`}: ${displayableLine(description)}`;
}
