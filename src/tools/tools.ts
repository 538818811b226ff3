import type { AgentConfig } from "../config/config.ts";
import type { Prompts } from "../prompts/load.ts";
import { memoryRecall } from "./memory-recall.ts";
import { memoryWrite } from "./memory-write.ts";
import { note } from "./note.ts";
import { react } from "./react.ts";
import { searchHistory } from "./search-history.ts";
import { skip } from "./skip.ts";
import type { Tool } from "./tool.ts";

/*
 * To add a tool: write its file here (`defineTool`) and its description `prompts/en/tool-NAME.md.j2`, and add a line to
 * TOOLS and one to the templates in `prompts/catalogue.ts`.
 */

/** All tools, sorted by name, so that the first part of every request stays the same bytes. */
const TOOLS = [memoryRecall, memoryWrite, note, react, searchHistory, skip];
/** Of an agent that has a folder to write to. */
const NOTE_TOOLS: ReadonlySet<unknown> = new Set([memoryWrite, note]);

/** What each of these looks up. */
const LOOK_UP_TOOLS: ReadonlyMap<unknown, "messages" | "memories"> = new Map([
  [searchHistory, "messages"],
  [memoryRecall, "memories"],
]);

/**
 * @param keepsNotes the agent has a folder of its own, and may write there
 * @param recall what it may look up
 */
export function createTools(
  prompts: Prompts,
  keepsNotes: boolean,
  recall: AgentConfig["memory"]["recall"] = "all",
): readonly Tool[] {
  const mayUse = (tool: unknown): boolean => {
    const looksUp = LOOK_UP_TOOLS.get(tool);
    const mayLook = looksUp === undefined || recall === "all" || recall === looksUp;
    return mayLook && (keepsNotes || !NOTE_TOOLS.has(tool));
  };
  return TOOLS.filter(mayUse).map((describedBy) => describedBy(prompts));
}
