import { join } from "node:path";
import type { CompactorTexts, WorkerAgent } from "../../src/compactor/summary/summary-attempt.ts";
import { agentId } from "../../src/core/ids.ts";
import { MEMORY_SAVE } from "../../src/features/features.ts";
import { createTimeFormat } from "../../src/text/time.ts";
import { loadPrompts, type Prompts } from "../../src/prompts/load.ts";

const ID = agentId("main");

/** The texts of a summariser, from the shipped templates. */
export function compactorTexts(prompts: Prompts): CompactorTexts {
  return {
    memorySave: prompts.render("tool-memory-save", {}),
    memoryResult: (values) => prompts.render("memory-result", values),
    shorten: (values) => prompts.render("compactor-shorten", values),
    again: (values) => prompts.render("compactor-again", values),
    editNote: (values) => prompts.render("edit-note", values),
    absence: ({ kind, from, to }) => prompts.render("absence", { kind, fromTime: from, toTime: to }),
    undelivered: ({ kind, asked, missing, of }) =>
      prompts.render("undelivered", { kind, askedAt: asked, missing, characters: of }),
    instructions: (values) => prompts.render("compactor", values, ID),
    background: (values) => prompts.render("compactor-background", values),
    task: (values) => prompts.render("compactor-task", values),
    merge: (values) => prompts.render("compactor-merge", values),
    revise: (values) => prompts.render("compactor-revise", values),
    memoryRevise: prompts.render("tool-memory-revise", {}),
  };
}

/** An agent as the worker sees it. */
export function workerAgent(instructions = "Be kind to the crew."): WorkerAgent {
  const prompts = loadPrompts({ dir: join(import.meta.dirname, "../../prompts/en") });
  const systemText = prompts.render(
    "system",
    { agentName: "Weir", instructions, date: "2026-11-21", recall: "all" },
    ID,
  );
  const time = createTimeFormat("UTC");
  return { systemText, agentName: "Weir", time, texts: compactorTexts(prompts), memorySave: MEMORY_SAVE };
}
