import { join } from "node:path";
import type { CompactorTexts, WorkerAgent } from "../../src/compactor/summary/summary-attempt.ts";
import { agentId } from "../../src/core/ids.ts";
import { createTimeFormat } from "../../src/text/time.ts";
import { loadPrompts, type Prompts } from "../../src/prompts/load.ts";

const ID = agentId("main");

/** The texts of a summariser, from the shipped templates. */
export function compactorTexts(prompts: Prompts): CompactorTexts {
  return {
    memorySave: prompts.toolMemorySave,
    memoryResult: (values) => prompts.memoryResult(values),
    shorten: (values) => prompts.compactorShorten(values),
    editNote: (values) => prompts.editNote(values),
    absence: (values) => prompts.absence(values),
    instructions: (values) => prompts.compactor(ID, values),
    background: (values) => prompts.compactorBackground(values),
    task: (values) => prompts.compactorTask(values),
    merge: (values) => prompts.compactorMerge(values),
  };
}

/** An agent as the worker sees it. */
export function workerAgent(instructions = "Be kind to the crew."): WorkerAgent {
  const prompts = loadPrompts({ dir: join(import.meta.dirname, "../../prompts/en") });
  const systemText = prompts.system(ID, { agentName: "Weir", instructions, date: "2026-11-21" });
  const time = createTimeFormat("UTC");
  return { systemText, agentName: "Weir", time, texts: compactorTexts(prompts) };
}
