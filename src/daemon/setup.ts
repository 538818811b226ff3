import type { Logger } from "pino";
import type { KnownSecrets } from "../admin/secrets.ts";
import { type AgentEvents, type Agents, createAgents, type StaffedAgent } from "../agents.ts";
import type { AgentConfig, Config } from "../config/config.ts";
import type { AgentId } from "../core/ids.ts";
import type { Models } from "../llm/models.ts";
import { CHAT_PLATFORMS, chatPlatform } from "../platforms/platforms.ts";
import { type LoadedPrompts, loadPrompts, promptSources } from "../prompts/load.ts";
import { type Binding, bindingFor, type NameHolds } from "../router/bindings.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import { sliceWhole } from "../text/text.ts";
import type { ModelError } from "../llm/model.ts";

/** Everything built from one configuration. Immutable: a reload builds another one. */
export interface Setup {
  readonly config: Config;
  /** Which agent answers which channels. */
  readonly bindings: readonly Binding[];
  readonly prompts: LoadedPrompts;
  readonly agents: Agents;
}

/** The setup in force. Read it once for each decision. */
export interface CurrentSetup {
  setup: Setup;
}

export interface SetupParts {
  readonly models: Models;
  readonly secrets: KnownSecrets;
  readonly log: Logger;
}

/** Reads the templates of a configuration, and logs changed ones. @throws PromptError that lists all errors */
export function readPrompts(config: Config, log: Logger, before?: LoadedPrompts): LoadedPrompts {
  const prompts = loadPrompts(promptSources(config), before);
  const { absent } = prompts;
  if (prompts === before || absent.length === 0) return prompts;
  const isOwn = config.prompts.dir !== null;
  log.warn(
    { templates: absent },
    isOwn ? "templates_of_weir: prompts.dir does not have them" : "templates_in_english",
  );
  return prompts;
}

/**
 * Builds a setup. Changes nothing in force, and starts nothing.
 * @param before the previous setup: its unchanged agents are reused
 * @throws OperatorError if an agent's fixed part leaves no room for a conversation
 */
export async function makeSetup(
  configured: Omit<Setup, "agents">,
  { models, secrets, log }: SetupParts,
  before?: Setup,
): Promise<Setup> {
  const { config, prompts } = configured;
  const told = agentEvents(secrets, log);
  const agents = models.trying(config.llm, () => createAgents(config, models, prompts, told, before?.agents));
  await agents.readFolders();
  return { ...configured, agents };
}

/** Logs events of agents. A separate function, so that its closures, which live as long as an agent, hold no other agent. */
function agentEvents(secrets: KnownSecrets, log: Logger): AgentEvents {
  return {
    onPassedOver: fallbackLog(log, secrets.masked),
    servers: { log, mask: secrets.masked },
    onFileProblem: (agent, problem) =>
      log.warn({ agent, problem: secrets.masked(problem) }, "agent_file_not_used"),
  };
}

/** The agent of a channel, by its row and the current setup. */
export interface Answering {
  /** The channel's binding; undefined: no agent answers there. */
  readonly bindingOf: (channel: ChannelRow) => Binding | undefined;
  readonly staffOf: (channel: ChannelRow) => StaffedAgent;
  /** Whether any channel shares memories that an agent may see. */
  readonly isShared: (agent: Pick<AgentConfig, "id" | "sharedMemory">) => boolean;
  /** Makes the extract that replaces a summary with a forgotten text in it. */
  readonly digesterOf: (channel: ChannelRow) => Digester;
}

export function answeringOf(
  current: Readonly<CurrentSetup>,
  names: { readonly holds: NameHolds },
): Answering {
  const bindingOf = (channel: ChannelRow): Binding | undefined =>
    bindingFor(current.setup.bindings, channel, (...name) => names.holds(...name));
  return {
    bindingOf,
    staffOf: (channel) => current.setup.agents.bound(channel, bindingOf(channel)),
    isShared: ({ id, sharedMemory }) =>
      current.setup.bindings.some(
        ({ sharesMemory, agent, also }) =>
          sharesMemory && [agent, ...also].some((one) => one === id || sharedMemory.includes(one)),
      ),
    digesterOf: ({ agent }) => current.setup.agents.of(agent).compactorAgent.digester,
  };
}

export function sharedMemoriesOf({ agents }: Config): ReadonlyMap<AgentId, readonly string[]> {
  return new Map(agents.map(({ id, sharedMemory }) => [id, sharedMemory]));
}

export function ownerRolesOf({ platforms }: Config): Record<string, readonly string[]> {
  return Object.fromEntries(CHAT_PLATFORMS.map((key) => [key, platforms[key]?.ownerRoles ?? []]));
}

/** The platform's ids of the people who run Weir there. */
export function ownersOf({ platforms }: Config, platform: string): readonly string[] {
  const chat = chatPlatform(platform);
  return chat === undefined ? [] : (platforms[chat]?.owners ?? []);
}

/** Longest part of a provider's text in the line, in characters. */
const MAX_WHY = 200;

/**
 * Logs that a fallback has answered for the requested model: once for each model and reason, since every turn may
 * repeat it.
 * @param masked masks the secrets in a text
 */
export function fallbackLog(
  log: Logger,
  masked: (text: string) => string,
): (answeredBy: string, first: ModelError) => void {
  const told = new Set<string>();
  return (answeredBy, { model, kind, reason = kind, status, message }) => {
    // The key excludes the message, which may contain the request's number.
    const key = JSON.stringify([model, reason, status]);
    if (told.has(key)) return;
    told.add(key);
    // Masks first: a truncated secret would not be found.
    log.warn(
      { model, answeredBy, kind, reason, why: sliceWhole(masked(message), 0, MAX_WHY) },
      "model_passed_over",
    );
  };
}
