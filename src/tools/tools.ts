import type { Prompts } from "../prompts/load.ts";
import { memoryRecall } from "./memory-recall.ts";
import { react } from "./react.ts";
import { searchHistory } from "./search-history.ts";
import { skip } from "./skip.ts";
import type { Tool } from "./tool.ts";

/*
 * To add a tool: write its file here (`defineTool`) and its description `prompts/en/tool-NAME.md.j2`, and add a line to
 * TOOLS and one to the templates in `prompts/catalogue.ts`.
 */

/** All tools, sorted by name, so that the first part of every request stays the same bytes. */
const TOOLS = [memoryRecall, react, searchHistory, skip];

export function createTools(prompts: Prompts): readonly Tool[] {
  return TOOLS.map((describedBy) => describedBy(prompts));
}
