import { createMemoryRecall } from "./memory-recall.ts";
import { createReact } from "./react.ts";
import { createSearchHistory } from "./search-history.ts";
import { createSkip } from "./skip.ts";
import type { Tool } from "./tool.ts";

/** The descriptions that the model reads; they come from `prompts/`. */
export interface ToolTexts {
  readonly memoryRecall: string;
  readonly react: string;
  readonly searchHistory: string;
  readonly skip: string;
}

/** All tools, sorted by name, so that the first part of every request stays the same bytes. */
export function createTools(texts: ToolTexts): readonly Tool[] {
  return [
    createMemoryRecall(texts.memoryRecall),
    createReact(texts.react),
    createSearchHistory(texts.searchHistory),
    createSkip(texts.skip),
  ];
}
