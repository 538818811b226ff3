import type { AgentConfig } from "../config/config.ts";
import type { Prompts } from "../prompts/load.ts";
import { needsApproval } from "./approval.ts";
import { memoryRecall } from "./memory-recall.ts";
import { memoryWrite } from "./memory-write.ts";
import { note } from "./note.ts";
import { react } from "./react.ts";
import { remind } from "./remind.ts";
import { searchHistory } from "./search-history.ts";
import { activateSkill, deactivateSkill, readSkillFile } from "./skill.ts";
import { skip } from "./skip.ts";
import { spawnAgent, type SpawnChoices } from "./spawn-agent.ts";
import type { Tool } from "./tool.ts";

/*
 * To add a tool: write its file here (`defineTool`) and its description `prompts/en/tool-NAME.md.j2`, and add a line to
 * TOOLS and one to the templates in `prompts/catalogue.ts`. If not all agents are to have it, ToolNeeds says what it depends on.
 */

/** All tools, sorted by name, so that the first part of every request stays the same bytes. */
const TOOLS = [
  activateSkill,
  deactivateSkill,
  memoryRecall,
  memoryWrite,
  note,
  react,
  readSkillFile,
  remind,
  searchHistory,
  skip,
];

/** Of an agent that has a folder to write to. */
const NOTE_TOOLS: ReadonlySet<unknown> = new Set([memoryWrite, note]);
/** Of an agent that has skills. */
const SKILL_TOOLS: ReadonlySet<unknown> = new Set([activateSkill, deactivateSkill, readSkillFile]);
const SKILL_TOOL_NAMES: ReadonlySet<string> = new Set([
  "activate_skill",
  "deactivate_skill",
  "read_skill_file",
]);
/** What each of these looks up. */
const LOOK_UP_TOOLS: ReadonlyMap<unknown, "messages" | "memories"> = new Map([
  [searchHistory, "messages"],
  [memoryRecall, "memories"],
]);

/** What the tools of an agent depend on. */
export interface ToolNeeds {
  /** It has a folder of its own, and may write there. */
  readonly keepsNotes: boolean;
  readonly hasSkills: boolean;
  /** It may set reminders. */
  readonly setsReminders: boolean;
  /** What it may look up. */
  readonly recall: AgentConfig["memory"]["recall"];
  /** What a subagent of it may be; default: it has none. */
  readonly subagents?: Omit<SpawnChoices, "tools"> | undefined;
  /** Of its servers: a subagent may have some of them, too. Default: none. */
  readonly served?: readonly Tool[];
  /** What the configuration says of approvals, by tool; default: nothing. */
  readonly approvals?: AgentConfig["approvals"]["tools"];
}

/** Where a tool comes from, in a word or two. */
export function sourceOf({ server, spec }: Pick<Tool, "server" | "spec">): string {
  if (server !== undefined) return `server ${server}`;
  return SKILL_TOOL_NAMES.has(spec.name) ? "skill" : "built in";
}

export function createTools(
  prompts: Prompts,
  { keepsNotes, hasSkills, setsReminders, recall, subagents, served = [], approvals = {} }: ToolNeeds,
): readonly Tool[] {
  const mayUse = (tool: unknown): boolean => {
    const looksUp = LOOK_UP_TOOLS.get(tool);
    const mayLook = looksUp === undefined || recall === "all" || recall === looksUp;
    return (
      mayLook &&
      (keepsNotes || !NOTE_TOOLS.has(tool)) &&
      (hasSkills || !SKILL_TOOLS.has(tool)) &&
      (setsReminders || tool !== remind)
    );
  };
  const tools = TOOLS.filter(mayUse).map((describedBy) => describedBy(prompts));
  if (subagents === undefined) return tools;
  const names = toolsOfSubagents([...tools, ...served], approvals).map(({ spec }) => spec.name);
  const spawn = spawnAgent({ ...subagents, tools: names });
  return [...tools, spawn(prompts)].toSorted((a, b) => (a.spec.name < b.spec.name ? -1 : 1));
}

/** Those that a subagent may have: nobody is asked for an approval on its behalf. */
export function toolsOfSubagents(
  tools: readonly Tool[],
  approvals: NonNullable<ToolNeeds["approvals"]>,
): readonly Tool[] {
  return tools.filter((tool) => tool.forSubagents === true && !needsApproval(tool, approvals));
}
