/**
 * The built-in tools that a model may call, and which of them an agent gets. A tool reaches the store and the platform only
 * through its `ToolContext`.
 */

import type { AgentConfig } from "../config/config.ts";
import type { RoomTool } from "../config/tool-names.ts";
import type { Prompts } from "../prompts/load.ts";
import { memoryRecall } from "./memory-recall.ts";
import { react } from "./react.ts";
import { readMessages } from "./read-messages.ts";
import { searchHistory } from "./search-history.ts";
import { skip } from "./skip.ts";
import { asksFirst, type DescribedToolMaker, type Tool, type ToolMaker } from "./tool.ts";

/** To add a tool: write its file and `prompts/en/tool-NAME.md.j2`, its name in `config/tool-names.ts`, and a line here. */
const TOOLS: Readonly<Record<RoomTool, ToolMaker>> = {
  memory_recall: memoryRecall,
  react,
  read_messages: readMessages,
  search_history: searchHistory,
  skip,
};

/** The facts of an agent that decide about its tools. */
export interface ToolNeeds {
  readonly recall: AgentConfig["memory"]["recall"];
  /** The window of its model, tokens; default: a large one. */
  readonly window?: number;
  /** Tools of the features that it uses; default: empty. */
  readonly ofFeatures?: readonly ToolMaker[];
  /** The same whose descriptions name other tools; default: empty. */
  readonly described?: readonly DescribedToolMaker[];
  /** Tools of its servers, which those may name; default: empty. */
  readonly served?: readonly Tool[];
  /** A tool as the agent's configuration has it. Default: unchanged. */
  readonly configured?: ((tool: Tool) => Tool) | undefined;
}

/** Where a tool comes from, in a word or two. */
export function sourceOf({ server, source = "built in" }: Pick<Tool, "server" | "source">): string {
  return server === undefined ? source : `server ${server}`;
}

/** Sorted by name, so that the first part of every request stays the same bytes. */
export function createTools(prompts: Prompts, agent: ToolNeeds): readonly Tool[] {
  const { recall, window = Infinity, ofFeatures = [], described = [], served = [] } = agent;
  const { configured = (tool) => tool } = agent;
  const tools = [...Object.values(TOOLS), ...ofFeatures]
    .map((make) => configured(make(prompts)))
    .filter(({ needs }) => needs === undefined || recall === "all" || recall === needs)
    .filter((tool) => fitsWindow(tool, window))
    .toSorted(byName);
  const beside = [...tools, ...served];
  return [...tools, ...described.map((make) => configured(make(prompts, beside)))].toSorted(byName);
}

export function fitsWindow({ leastWindow = 0 }: Pick<Tool, "leastWindow">, window: number): boolean {
  return window >= leastWindow;
}

function byName(a: Tool, b: Tool): number {
  return a.spec.name < b.spec.name ? -1 : 1;
}

/** Tools that can be called beside turns: they need nothing of one, and their calls run at once. */
export function standaloneTools(tools: readonly Tool[]): readonly Tool[] {
  return tools.filter((tool) => tool.isStandalone === true && !asksFirst(tool));
}
