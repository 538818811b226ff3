/**
 * The built-in tools that a model may call, and which of them an agent gets. A tool reaches the store and the platform only
 * through its `ToolContext`.
 */

import type { AgentConfig } from "../config/config.ts";
import type { RoomTool } from "../config/tool-names.ts";
import type { Prompts } from "../prompts/load.ts";
import { memoryRecall } from "./memory-recall.ts";
import { memoryWrite } from "./memory-write.ts";
import { note } from "./note.ts";
import { react } from "./react.ts";
import { searchHistory } from "./search-history.ts";
import { activateSkill, deactivateSkill, readSkillFile } from "./skill.ts";
import { skip } from "./skip.ts";
import { spawnAgent, type SpawnChoices } from "./spawn-agent.ts";
import { asksFirst, type Tool, type ToolMaker } from "./tool.ts";

/** To add a tool: write its file and `prompts/en/tool-NAME.md.j2`, its name in `config/tool-names.ts`, and a line here. */
const TOOLS: Readonly<Record<RoomTool, ToolMaker>> = {
  activate_skill: activateSkill,
  deactivate_skill: deactivateSkill,
  memory_recall: memoryRecall,
  memory_write: memoryWrite,
  note,
  react,
  read_skill_file: readSkillFile,
  search_history: searchHistory,
  skip,
};

/** The facts of an agent that decide about its tools. */
export interface ToolNeeds {
  /** It has a folder of its own, and may write there. */
  readonly keepsNotes: boolean;
  readonly hasSkills: boolean;
  /** What the agent may look up. */
  readonly recall: AgentConfig["memory"]["recall"];
  /** What its subagents may be; default: it has no subagents. */
  readonly subagents?: Omit<SpawnChoices, "tools"> | undefined;
  /** Tools of its servers; a subagent may have some of them. Default: empty. */
  readonly served?: readonly Tool[];
  /** Tools of the features that it uses; default: empty. */
  readonly ofFeatures?: readonly ToolMaker[];
  /** A tool as the agent's configuration has it. Default: unchanged. */
  readonly configured?: ((tool: Tool) => Tool) | undefined;
}

/** Where a tool comes from, in a word or two. */
export function sourceOf({ server, needs }: Pick<Tool, "server" | "needs">): string {
  if (server !== undefined) return `server ${server}`;
  return needs === "skills" ? "skill" : "built in";
}

function has({ keepsNotes, hasSkills, recall }: ToolNeeds, need: NonNullable<Tool["needs"]>): boolean {
  switch (need) {
    case "notes":
      return keepsNotes;
    case "skills":
      return hasSkills;
    default:
      return recall === "all" || recall === need;
  }
}

/** Sorted by name, so that the first part of every request stays the same bytes. */
export function createTools(prompts: Prompts, agent: ToolNeeds): readonly Tool[] {
  const { subagents, served = [], configured = (tool) => tool, ofFeatures = [] } = agent;
  const tools = [...Object.values(TOOLS), ...ofFeatures]
    .map((make) => configured(make(prompts)))
    .filter(({ needs }) => needs === undefined || has(agent, needs))
    .toSorted(byName);
  if (subagents === undefined) return tools;
  const names = toolsOfSubagents([...tools, ...served]).map(({ spec }) => spec.name);
  const spawn = spawnAgent({ ...subagents, tools: names });
  return [...tools, configured(spawn(prompts))].toSorted(byName);
}

function byName(a: Tool, b: Tool): number {
  return a.spec.name < b.spec.name ? -1 : 1;
}

/** Tools for subagents: only those whose calls run at once. */
export function toolsOfSubagents(tools: readonly Tool[]): readonly Tool[] {
  return tools.filter((tool) => tool.forSubagents === true && !asksFirst(tool));
}
