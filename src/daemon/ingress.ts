import { createCommands } from "../admin/commands/commands.ts";
import { COMMANDS, NUMBERED, type OpenFeatures } from "../features/features.ts";
import type { AgentId } from "../core/ids.ts";
import type { Team } from "../core/team.ts";
import { SkipReasons } from "../admin/skip-reasons.ts";
import type { StatusKeeper } from "../admin/reports/daemon-status.ts";
import type { Platform } from "../platforms/platform.ts";
import type { NameHolds } from "../router/bindings.ts";
import { Notices } from "../router/notices.ts";
import { Refusals } from "../router/refusals.ts";
import { Router } from "../router/router.ts";
import { Speakers } from "../router/speakers.ts";
import type { Commands } from "../router/text-commands.ts";
import { TurnRateLimit } from "../router/turn-rate-limit.ts";
import type { Base, Channels } from "./channels.ts";
import type { Config } from "../config/config.ts";
import type { Transcription } from "../llm/transcription.ts";

type NamesOf = (agent: AgentId, also: readonly AgentId[]) => readonly string[];

type Parts = Omit<Base, "indexer"> &
  Channels & {
    readonly features: OpenFeatures;
    readonly keeper: StatusKeeper;
    readonly platforms: readonly Platform[];
    readonly transcription: Transcription | null;
  };

/** The model that makes words of sounds; null: none is named. Its client is loaded only for it. */
export async function openTranscription({ llm }: Pick<Config, "llm">): Promise<Transcription | null> {
  if (llm.transcription === null) return null;
  const { createTranscription } = await import("../llm/transcription.ts");
  return createTranscription(llm.transcription);
}

/** Creates the router with people's commands. They read the current setup at each use. */
export function createIngress(parts: Parts, stack: AsyncDisposableStack): Router {
  const { store, events, log, current, platformOf, models } = parts;
  const speakers = new Speakers(store.speakers);
  const refusals = new Refusals();
  const skipReasons = stack.use(new SkipReasons(events));
  const teamOf = (agent: AgentId, also: readonly AgentId[]): Team => current.setup.agents.teamOf(agent, also);
  const namesOf: NamesOf = (agent, also) => {
    const { id, name } = current.setup.agents.of(agent).agent.config;
    return [id, name, ...teamOf(agent, also).flatMap((member) => member.names)];
  };
  const router = new Router({
    ...parts,
    get bindings() {
      return current.setup.bindings;
    },
    speakers,
    teamOf,
    namesOf,
    commands: commandsOf(parts, { speakers, namesOf, refusals, skipReasons }),
    seesImages: (channel) => {
      const { config: one } = parts.staffOf(channel).agent;
      return one.seesImages && models.seesImages(one.model);
    },
    limits: new TurnRateLimit(() => performance.now()),
    refusals,
    notices: new Notices(platformOf, log),
    strangers: parts.features.strangers,
    promptsOf: (agent) => current.setup.agents.of(agent).agent.config.suggestedPrompts,
    failureText: (kind) => current.setup.prompts.render("failure", { kind, calls: 0 }).trim(),
  });
  stack.use(router.erasures);
  stack.use(router.privacy);
  return router;
}

function commandsOf(
  parts: Parts,
  given: {
    readonly speakers: Speakers;
    readonly namesOf: NamesOf;
    readonly refusals: Refusals;
    readonly skipReasons: SkipReasons;
  },
): Commands {
  const { speakers, namesOf, refusals, skipReasons } = given;
  const { registry, current, secrets, names, keeper } = parts;
  const { staffOf, bindingOf, platformOf, models, memories, features } = parts;
  const holds: NameHolds = (...name) => names.holds(...name);
  return createCommands(COMMANDS, {
    ...parts,
    agentOf: (channel) => registry.loaded(channel.id)?.agent ?? staffOf(channel).agent,
    agentBy: (channel) => staffOf(channel).agent,
    modelNames: () => [...current.setup.agents.choosable],
    guestsOf: (channel) => staffOf(channel).guests,
    get owners() {
      return { ...current.setup.config.platforms, holds };
    },
    capabilitiesOf: (channel) => platformOf(channel)?.capabilities,
    recall: memories,
    serviceOf: features.serviceOf,
    commandIn: features.commandIn,
    numbered: NUMBERED,
    activeTexts: features.activeTexts,
    channelFiles: features.channelFiles,
    resetFeatures: async (channel) => features.reset(channel),
    readWaitedFor: features.readWaitedFor,
    linkTo: async (channel, messageId) =>
      (await platformOf(channel.address)?.linkTo?.(channel, messageId)) ?? null,
    nameIn: async (channel, author) =>
      speakers.nameIn(channel.id, author, namesOf(channel.agent, bindingOf(channel)?.also ?? [])),
    get secrets() {
      return secrets.all;
    },
    helpText: (list) => current.setup.prompts.render("help", { commands: list }),
    daemon: keeper.status,
    isStandIn: () => models.isOffline,
    refusals,
    skipReasons,
    waitsFor: async (turn) => features.waitsFor(turn),
    isMentionRequired: (channel) => channel.kind !== "dm" && bindingOf(channel)?.mentionRequired === true,
  });
}
