import assert from "node:assert/strict";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import type { ContextSources } from "../../src/context/assemble.ts";
import type { Budget } from "../../src/context/usage.ts";
import { UNCALIBRATED } from "../../src/core/calibration.ts";
import type { ModelMessage } from "../../src/core/context.ts";
import type { EntryReference, RecalledStatement } from "../../src/core/entry.ts";
import { loadPrompts } from "../../src/prompts/load.ts";
import { createTools } from "../../src/tools/tools.ts";
import { type Agent, createAgent, NO_FOLDER } from "../../src/turn/agent.ts";
import { contextSources, NOTHING_ATTACHED, type OmittedExtract } from "../../src/turn/context-sources.ts";
import type { Seen } from "./conversation.ts";

const prompts = loadPrompts({ dir: join(import.meta.dirname, "../../prompts/en") });

/** The default agent with the shipped prompts; nobody asks its model. */
export function defaultAgent(): Agent {
  const [config] = loadConfig({ cwd: import.meta.dirname, env: {} }).agents;
  assert.ok(config !== undefined);
  const { id, name, instructions } = config;
  return createAgent({
    config,
    models: {
      model: {
        async answer() {
          throw new Error("nobody is asked");
        },
      },
      resolve: async (configured) => configured,
      nameOf: (configured) => configured,
      windowOf: (_, configured) => configured,
      knownWindow: (_, configured) => ({ tokens: configured, source: "configured", until: null }),
      factorOf: () => UNCALIBRATED.factor,
      learnFactor: () => undefined,
      seesImages: () => true,
      priceOf: () => undefined,
    },
    folder: NO_FOLDER,
    tools: createTools(prompts, { recall: "all" }),
    texts: {
      system: ({ date }) =>
        prompts.render("system", { agentName: name, instructions, date, recall: "all" }, id),
      dynamic: (values) => prompts.render("dynamic", values),
      unfound: () => prompts.render("unfound", {}).trim(),
      omission: (values) => prompts.render("omission", values),
      render: (template, values) => prompts.render(template, values),
      editNote: (values) => prompts.render("edit-note", values),
      absence: ({ kind, from, to }) => prompts.render("absence", { kind, fromTime: from, toTime: to }),
      undelivered: ({ kind, asked, missing, of }) =>
        prompts.render("undelivered", { kind, askedAt: asked, missing, characters: of }),
      resultImages: (values) => prompts.render("result-images", values).trim(),
      sections: ({ writesFolder, ...values }) =>
        prompts.render("sections", { agentName: name, keepsNotes: writesFolder, ...values }),
      failure: (values) => prompts.render("failure", values),
      deleted: () => prompts.render("deleted", {}).trim(),
      opening: () => prompts.render("opening", {}).trim(),
      closing: () => prompts.render("closing", {}).trim(),
    },
  });
}

const agent = defaultAgent();

/** What the default agent's context is made of at one moment of a conversation. */
export function sourcesOf(
  seen: Seen,
  recalled: readonly EntryReference[] = [],
  remembered: readonly RecalledStatement[] = [],
  extract: OmittedExtract | null = null,
): ContextSources {
  return contextSources(agent, {
    ...seen,
    recalled,
    remembered,
    attached: NOTHING_ATTACHED,
    resultImages: [],
    extract,
    channelFiles: [],
    activeTexts: [],
    waitedFor: [],
    isUnfound: false,
    now: new Date("2026-11-21T20:00:00Z"),
    usable: 26_000,
    scene: {
      platform: "terminal",
      channel: "general",
      names: ["terminal:general"],
      fileNames: ["terminal-general"],
    },
  });
}

export function budgetOf(window: number, reserve: number, keepMessages = 20): Budget {
  return {
    window,
    reserve,
    keepMessages,
    target: 0.6,
    backgroundThreshold: 0.8,
    aggressiveThreshold: 0.85,
    emergencyThreshold: 0.95,
    calibration: UNCALIBRATED,
  };
}

/** I5: each call is directly followed by its results, and there is no orphan of either. */
export function assertPaired(messages: readonly ModelMessage[]): void {
  let waiting: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      assert.equal(message.callId, waiting.shift(), "a result of the call before it");
      continue;
    }
    assert.deepEqual(waiting, [], "every call has its results right behind it");
    if (message.role === "assistant") waiting = message.calls.map(({ id }) => id);
  }
  assert.deepEqual(waiting, []);
}
