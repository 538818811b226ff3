import type { AgentConfig } from "./config/config.ts";
import type { Summariser } from "./compactor/summariser.ts";
import { digestEntries, digestTexts } from "./context/digest.ts";
import type { EntryTexts } from "./context/render.ts";
import type { AgentId } from "./core/ids.ts";
import { MEMORY_SAVE } from "./features/features.ts";
import { inSlices } from "./async/cooperative.ts";
import type { Models } from "./llm/models.ts";
import type { Prompts } from "./prompts/load.ts";
import type { Digester } from "./store/compaction/extracts.ts";
import type { Agent, AgentTexts } from "./turn/agent.ts";

/** Model calls of one attempt at a summary: rounds of `memory_save`, parts, their putting together, a shorter or better text. */
const MAX_CALLS = 10;

/** What an agent's requests say beside what people said, by its templates. */
export function agentTexts(config: AgentConfig, prompts: Prompts): AgentTexts {
  const { id, name, instructions, memory } = config;
  const deleted = prompts.render("deleted", {});
  const unfound = prompts.render("unfound", {}).trim();
  const opening = prompts.render("opening", {}).trim();
  const closing = prompts.render("closing", {}).trim();
  return {
    system: ({ date }) =>
      prompts.render("system", { agentName: name, instructions, date, recall: memory.recall }, id),
    sections: ({ writesFolder, ...values }) =>
      prompts.render("sections", { agentName: name, keepsNotes: writesFolder, ...values }),
    dynamic: (values) => prompts.render("dynamic", values),
    unfound: () => unfound,
    omission: (values) => prompts.render("omission", values),
    render: (template, values) => prompts.render(template, values),
    editNote: (values) => prompts.render("edit-note", values),
    absence: ({ kind, from, to }) => prompts.render("absence", { kind, fromTime: from, toTime: to }),
    undelivered: (values) => undeliveredText(values, prompts),
    resultImages: (values) => prompts.render("result-images", values).trim(),
    failure: (values) => prompts.render("failure", values).trim(),
    deleted: () => deleted,
    opening: () => opening,
    closing: () => closing,
  };
}

/** What writes the summaries of an agent's channels. */
export function summariserOf(
  agent: Agent,
  models: Models,
  prompts: Prompts,
  nameOf: (agent: AgentId) => string,
): Summariser {
  const { config, time } = agent;
  const { id, name, compactorModel, fallbacks, model } = config;
  const names = [...new Set([compactorModel, ...fallbacks])];
  return {
    compaction: config.compaction,
    agentName: name,
    time,
    model: agent.models.model,
    nameOf,
    digester: createDigester(agent, prompts, nameOf),
    thinkingAllowance: config.maxOutputTokens,
    maxCalls: MAX_CALLS,
    memorySave: MEMORY_SAVE,
    noticeText: (messages) => prompts.render("compaction-notice", { count: messages }).trim(),
    modelNames: () => names,
    resolve: async (configured, signal) => models.resolve(configured, signal),
    // An agent's context_window is that of its own model.
    windowOf: (resolved, configured) =>
      models.windowOf(resolved, configured === model ? config.contextWindow : 0),
    evidenceOf: (resolved) => models.evidenceOf(resolved),
    // How to answer is none of a summariser's business; a template of the agent's own may say who it is.
    get systemText() {
      return config.prompt === null
        ? [config.instructions, soulOf(agent)].filter((text) => text !== "").join("\n\n")
        : agent.texts.system({ date: time.day(new Date()) });
    },
    texts: {
      instructions: (values) => prompts.render("compactor", values, id),
      background: (values) => prompts.render("compactor-background", values),
      task: (values) => prompts.render("compactor-task", values),
      merge: (values) => prompts.render("compactor-merge", values),
      shorten: (values) => prompts.render("compactor-shorten", values),
      again: (values) => prompts.render("compactor-again", values),
      memorySave: prompts.render("tool-memory-save", {}),
      revise: (values) => prompts.render("compactor-revise", values),
      memoryRevise: prompts.render("tool-memory-revise", {}),
      memoryResult: (values) => prompts.render("memory-result", values),
      editNote: (values) => prompts.render("edit-note", values),
      absence: ({ kind, from, to }) => prompts.render("absence", { kind, fromTime: from, toTime: to }),
      undelivered: (values) => undeliveredText(values, prompts),
    },
  };
}

function undeliveredText(
  { kind, asked, missing, of }: Parameters<EntryTexts["undelivered"]>[0],
  prompts: Prompts,
): string {
  return prompts.render("undelivered", { kind, askedAt: asked, missing, characters: of });
}

function soulOf({ folder }: Agent): string {
  return folder.current.files.find(({ kind }) => kind === "soul")?.text.trim() ?? "";
}

function createDigester(
  { config, time }: Agent,
  prompts: Prompts,
  nameOf: (agent: AgentId) => string,
): Digester {
  return {
    ofEntries: async (entries, maxTokens, focus = "") =>
      inSlices(
        digestEntries(entries, time, {
          maxTokens,
          focus,
          nameOf,
          agentName: config.name,
          frame: (values) => prompts.render("digest", values).trim(),
        }),
      ),
    ofTexts: async (texts, maxTokens) => inSlices(digestTexts(texts, { maxTokens })),
  };
}
