/**
 * The list of features, and what the daemon makes of it. A feature is a folder here and its tests in `test/features/NAME`;
 * CONTRIBUTING says how one comes and goes. No room below imports a feature, and no feature another one.
 */

import type { Logger } from "pino";
import { BUILT_IN_COMMANDS } from "../admin/commands/commands.ts";
import type { Command, CommandParts, EndNumbered } from "../admin/commands/command.ts";
import type { ReadWaitedFor } from "../admin/reports/channel-report.ts";
import {
  type ActorParts,
  type BackgroundWork,
  type BoardOutbox,
  type CallGates,
  type ChannelBoard,
  type FolderTexts,
  OPEN_GATES,
  type TurnFeatures,
  type TurnSite,
} from "../channel/channel-context.ts";
import type { AgentConfig } from "../config/config.ts";
import type { AgentFile } from "../context/sections/section.ts";
import type { Card } from "../core/card.ts";
import type { Finding } from "../core/errors.ts";
import type { FeatureKey, KitOf, ServiceOf } from "../core/feature-key.ts";
import type { ChannelId, TurnId } from "../core/ids.ts";
import { MemorySave } from "../memory/save-call.ts";
import { NO_STRANGERS, type Strangers } from "../router/strangers.ts";
import type { Database } from "../store/database/database.ts";
import type { Signer } from "../store/database/signing-key.ts";
import type { TimeFormat } from "../text/time.ts";
import type { DescribedToolMaker, Tool, ToolMaker } from "../tools/tool.ts";
import type { WaitedFor } from "../turn/context-sources.ts";
import type {
  ActAsked,
  ActOutcome,
  Feature,
  FeatureList,
  FeatureSetup,
  FeatureWork,
  FeatureWorker,
  InboxAsked,
  OpenFeature,
  OpenParts,
  WaitingItem,
  WorkParts,
} from "./feature.ts";
import { questions } from "./questions/feature.ts";
import { files } from "./files/feature.ts";
import { notes } from "./notes/feature.ts";
import { pairing } from "./pairing/feature.ts";
import { reminders } from "./reminders/feature.ts";
import { skills } from "./skills/feature.ts";
import { subagents } from "./subagents/feature.ts";
import { wishes } from "./wishes/feature.ts";

/** In the order of `weir status`. */
const FEATURES: readonly Feature[] = [reminders, questions, pairing, subagents, skills, notes, wishes, files];

export const NUMBERED: ReadonlyMap<string, EndNumbered> = new Map(
  FEATURES.flatMap(({ numbered }) => (numbered === undefined ? [] : [[numbered.letter, numbered.end]])),
);

export const MEMORY_SAVE = new MemorySave(FEATURES.flatMap(({ saveList = [] }) => saveList));

export async function examineFeatures(database: Database, signer: Signer): Promise<readonly Finding[]> {
  return flattened(FEATURES.map(async ({ examine }) => (await examine?.(database, signer)) ?? []));
}

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = FEATURES.flatMap(({ commands = [] }) => commands).reduce(
  (all, { command, after }) => {
    const place = all.findIndex(({ name }) => name === after);
    if (place < 0) throw new Error(`no command ${after} stands before ${command.name}`);
    return all.toSpliced(place + 1, 0, command);
  },
  BUILT_IN_COMMANDS,
);

/**
 * Tools of all features for an agent.
 * @param agentsDir the folder of the agents' folders
 */
export function featureToolsOf(agent: AgentConfig, agentsDir: string | undefined): ToolMaker[] {
  return FEATURES.flatMap((feature) => feature.toolsOf?.(agent, agentsDir) ?? []);
}

/** What all features show of agents' folders. */
export function folderTexts(database: Database): FolderTexts {
  return {
    activeTexts: async (...asked) =>
      flattened(FEATURES.map(async (feature) => (await feature.activeTexts?.(database, ...asked)) ?? [])),
    channelFiles: async (...asked) =>
      flattened(FEATURES.map(async (feature) => (await feature.channelFiles?.(database, ...asked)) ?? [])),
  };
}

async function flattened<Part>(lists: readonly Promise<readonly Part[]>[]): Promise<readonly Part[]> {
  return (await Promise.all(lists)).flat();
}

export function describedToolsOf(agent: AgentConfig): DescribedToolMaker[] {
  return FEATURES.flatMap((feature) => feature.describedToolsOf?.(agent) ?? []);
}

/** What of the features an agent waits for in a channel, for a report of its next request. */
export async function readWaitedFor(
  database: Database,
  channel: ChannelId,
  time: TimeFormat,
): Promise<readonly WaitedFor[]> {
  return flattened(
    FEATURES.map(async ({ section }) =>
      section === undefined
        ? []
        : [{ kind: section.kind, lines: await section.ofChannel(database, channel, time) }],
    ),
  );
}

export function configuredBy(agent: AgentConfig): (tool: Tool) => Tool {
  return (tool) => FEATURES.reduce((one, { toolOf }) => toolOf?.(agent, one) ?? one, tool);
}

export function warnOfFeatures(setup: FeatureSetup, log: Logger): void {
  for (const { warn } of FEATURES) warn?.(setup, log);
}

export async function readFeatureWork(
  database: Database,
): Promise<readonly (FeatureWork & { readonly name: string })[]> {
  return flattened(
    FEATURES.map(async ({ key: { name }, waiting }) =>
      waiting === undefined ? [] : [{ name, ...(await waiting(database)) }],
    ),
  );
}

export type FeatureItem = WaitingItem & { readonly feature: string };

type Opened = OpenFeature<unknown, unknown>;

/** The features of one daemon. Disposed of when the intake has closed, before the channels drain. */
export class OpenFeatures implements TurnFeatures, AsyncDisposable {
  readonly #database: Database;
  readonly #features: readonly Feature[];
  readonly #open: ReadonlyMap<string, Opened>;
  readonly activeTexts: FolderTexts["activeTexts"];
  readonly channelFiles: FolderTexts["channelFiles"];
  readonly background: BackgroundWork;

  /** @param features default: all */
  constructor(parts: OpenParts, features: readonly Feature[] = FEATURES) {
    this.#database = parts.database;
    this.#features = features;
    ({ activeTexts: this.activeTexts, channelFiles: this.channelFiles } = folderTexts(parts.database));
    this.#open = new Map(features.map((feature) => [feature.key.name, feature.open(parts)]));
    this.background = together(this.#all(({ background }) => background));
  }

  readonly serviceOf: ServiceOf = <Service>(key: FeatureKey<Service, unknown>): Service =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the key has the types of the feature that was opened by it
    this.#opened(key).service as Service;

  get strangers(): Strangers {
    const [first = NO_STRANGERS] = this.#all(({ strangers }) => strangers);
    return first;
  }

  get gates(): CallGates {
    const [first = OPEN_GATES] = this.#all(({ gates }) => gates);
    return first;
  }

  changed(): void {
    for (const feature of this.#open.values()) feature.changed?.();
  }

  boardOf(parts: ActorParts, outbox: BoardOutbox): ChannelBoard {
    const boards = this.#all((feature) => feature.boardOf?.(parts, outbox));
    return {
      show: () => boards.forEach((board) => board.show()),
      resume: () => boards.forEach((board) => board.resume()),
    };
  }

  async waitsFor(turn: TurnId): Promise<string | null> {
    return this.#first(async (feature) => feature.waitsFor?.(turn));
  }

  async readWork(): Promise<Awaited<ReturnType<typeof readFeatureWork>>> {
    return readFeatureWork(this.#database);
  }

  /** What waits for a person: of each feature the oldest. */
  async inbox(asked: InboxAsked): Promise<readonly FeatureItem[]> {
    return flattened(
      [...this.#open].map(async ([feature, opened]) =>
        ((await opened.inbox?.(asked)) ?? []).map((item) => ({ ...item, feature })),
      ),
    );
  }

  /** Acts on an item of the inbox. @param feature its name */
  async act(feature: string, asked: ActAsked): Promise<ActOutcome> {
    const outcome = await this.#open.get(feature)?.act?.(asked);
    return outcome ?? { isDone: false, sentence: "There is no such thing to act on." };
  }

  async lists(asked: InboxAsked): Promise<readonly FeatureList[]> {
    return this.#gathered(async (feature) => {
      const list = await feature.list?.(asked);
      return list === undefined ? [] : [list];
    });
  }

  async channelLists(channel: ChannelId, time: TimeFormat): Promise<Card["lists"]> {
    return this.#gathered(async (feature) => (await feature.channelLists?.(channel, time)) ?? []);
  }

  readonly commandIn: CommandParts["commandIn"] = async (message) =>
    this.#first(async (feature) => feature.commandIn?.(message));

  async reset(channel: ChannelId): Promise<void> {
    await this.#each(async (feature) => feature.reset?.(channel));
  }

  kitsOf(site: TurnSite): KitOf {
    const kits = new Map<string, unknown>();
    return <Kit>(key: FeatureKey<unknown, Kit>): Kit => {
      if (!kits.has(key.name)) kits.set(key.name, this.#opened(key).kitOf?.(site));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
      return kits.get(key.name) as Kit;
    };
  }

  readonly readWaitedFor: ReadWaitedFor = async (channel, time) =>
    readWaitedFor(this.#database, channel, time);

  async waitedFor(kitOf: KitOf): Promise<readonly WaitedFor[]> {
    return flattened(
      this.#features.map(async ({ key, section }) =>
        section === undefined ? [] : [{ kind: section.kind, lines: await section.ofTurn(kitOf(key)) }],
      ),
    );
  }

  async begunBy(channel: ChannelId, messageId: string): Promise<TurnId | null> {
    return this.#first(async ({ begunBy }) => begunBy?.(channel, messageId));
  }

  async filesOf(kitOf: KitOf): Promise<readonly AgentFile[]> {
    return this.#gathered(async (feature) => (await feature.filesOf?.(kitOf)) ?? []);
  }

  async sweepFiles(): Promise<void> {
    await this.#each(async (feature) => feature.sweepFiles?.());
  }

  work(parts: WorkParts): Required<FeatureWorker> {
    const workers = this.#all((feature) => feature.work?.(parts) ?? undefined);
    return {
      start: () => workers.forEach((worker) => worker.start()),
      reconfigured: () => workers.forEach((worker) => worker.reconfigured?.()),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#each(async (feature) => feature[Symbol.asyncDispose]?.());
  }

  async #each(act: (feature: Opened) => Promise<void>): Promise<void> {
    await Promise.all([...this.#open.values()].map(act));
  }

  async #gathered<Part>(ask: (feature: Opened) => Promise<readonly Part[]>): Promise<readonly Part[]> {
    return flattened([...this.#open.values()].map(ask));
  }

  /** The first answer of a feature, asked one after the other; null: none has one. */
  async #first<Answer>(ask: (feature: Opened) => Promise<Answer | null | undefined>): Promise<Answer | null> {
    for (const feature of this.#open.values()) {
      const answer = await ask(feature);
      if (answer !== undefined && answer !== null) return answer;
    }
    return null;
  }

  #all<Part extends object>(part: (feature: Opened) => Part | undefined): Part[] {
    return [...this.#open.values()].flatMap((feature) => part(feature) ?? []);
  }

  #opened(key: FeatureKey<unknown, unknown>): Opened {
    const opened = this.#open.get(key.name);
    if (opened === undefined) throw new Error(`there is no feature ${key.name}`);
    return opened;
  }
}

function together(all: readonly BackgroundWork[]): BackgroundWork {
  const each = async (act: (one: BackgroundWork) => Promise<void>): Promise<void> => {
    await Promise.all(all.map(act));
  };
  return {
    takeUp: (site, history) => all.forEach((one) => one.takeUp(site, history)),
    turnEnded: (channel) => all.forEach((one) => one.turnEnded(channel)),
    changed: () => all.forEach((one) => one.changed()),
    drop: async (channel) => each(async (one) => one.drop(channel)),
    leave: async (isLeft) => each(async (one) => one.leave(isLeft)),
    idle: async () => each(async (one) => one.idle()),
  };
}
