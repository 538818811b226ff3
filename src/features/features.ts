/**
 * The list of features, and what the daemon makes of it. A feature is a folder here and its tests in `test/features/NAME`: to take it
 * out, delete both, its line here, and the one in `declarations.ts`. No room below imports a feature, and no feature another one.
 */

import type { Logger } from "pino";
import { BUILT_IN_COMMANDS } from "../admin/commands/commands.ts";
import type { Command } from "../admin/commands/command.ts";
import {
  type ActorParts,
  type BoardOutbox,
  type CallGates,
  type ChannelBoard,
  OPEN_GATES,
  type TurnFeatures,
  type TurnSite,
} from "../channel/channel-context.ts";
import type { AgentConfig } from "../config/config.ts";
import type { FeatureKey, KitOf, ServiceOf } from "../core/feature-key.ts";
import type { TurnId } from "../core/ids.ts";
import { NO_STRANGERS, type Strangers } from "../router/strangers.ts";
import type { Database } from "../store/database/database.ts";
import type { Tool, ToolMaker } from "../tools/tool.ts";
import type {
  Feature,
  FeatureSetup,
  FeatureWork,
  FeatureWorker,
  OpenFeature,
  OpenParts,
  WorkParts,
} from "./feature.ts";
import { approvals } from "./approvals/feature.ts";
import { pairing } from "./pairing/pairing.ts";
import { reminders } from "./reminders/feature.ts";

/** In the order of `weir status`. */
const FEATURES: readonly Feature[] = [reminders, approvals, pairing];

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = FEATURES.flatMap(({ commands = [] }) => commands).reduce(
  (all, { command, after }) => all.toSpliced(all.findIndex(({ name }) => name === after) + 1, 0, command),
  BUILT_IN_COMMANDS,
);

/** Tools of all features for an agent. */
export function featureToolsOf(agent: AgentConfig): ToolMaker[] {
  return FEATURES.flatMap((feature) => feature.toolsOf?.(agent) ?? []);
}

/** An agent's tools as its configuration has them. */
export function configuredBy(agent: AgentConfig): (tool: Tool) => Tool {
  return (tool) => FEATURES.reduce((one, { toolOf }) => toolOf?.(agent, one) ?? one, tool);
}

/** Logs what the operator may have forgotten. */
export function warnOfFeatures(setup: FeatureSetup, log: Logger): void {
  for (const { warn } of FEATURES) warn?.(setup, log);
}

/** What waits of each feature. */
export async function readFeatureWork(
  database: Database,
): Promise<readonly (FeatureWork & { readonly name: string })[]> {
  const work = FEATURES.map(async ({ key: { name }, waiting }) =>
    waiting === undefined ? [] : [{ name, ...(await waiting(database)) }],
  );
  return (await Promise.all(work)).flat();
}

/** The features of one daemon. Disposed of when the intake has closed, before the channels drain. */
export class OpenFeatures implements TurnFeatures, AsyncDisposable {
  readonly #open: ReadonlyMap<string, OpenFeature<unknown, unknown>>;

  /** @param features default: all */
  constructor(parts: OpenParts, features: readonly Feature[] = FEATURES) {
    this.#open = new Map(features.map((feature) => [feature.key.name, feature.open(parts)]));
  }

  readonly serviceOf: ServiceOf = <Service>(key: FeatureKey<Service, unknown>): Service =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the key has the types of the feature that was opened by it
    this.#opened(key).service as Service;

  /** Who may send direct messages beside those whom the configuration names. */
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

  /** What a settled turn still waits for, as the end of a sentence about its message; null: nothing. */
  async waitsFor(turn: TurnId): Promise<string | null> {
    for (const feature of this.#open.values()) {
      const what = await feature.waitsFor?.(turn);
      if (what !== undefined && what !== null) return what;
    }
    return null;
  }

  kitsOf(site: TurnSite): KitOf {
    const kits = new Map<string, unknown>();
    return <Kit>(key: FeatureKey<unknown, Kit>): Kit => {
      if (!kits.has(key.name)) kits.set(key.name, this.#opened(key).kitOf?.(site));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
      return kits.get(key.name) as Kit;
    };
  }

  work(parts: WorkParts): Required<FeatureWorker> {
    const workers = this.#all((feature) => feature.work?.(parts));
    return {
      start: () => workers.forEach((worker) => worker.start()),
      reconfigured: () => workers.forEach((worker) => worker.reconfigured?.()),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.values()].map(async (feature) => feature[Symbol.asyncDispose]()));
  }

  #all<Part extends object>(part: (feature: OpenFeature<unknown, unknown>) => Part | undefined): Part[] {
    return [...this.#open.values()].flatMap((feature) => part(feature) ?? []);
  }

  #opened(key: FeatureKey<unknown, unknown>): OpenFeature<unknown, unknown> {
    const opened = this.#open.get(key.name);
    if (opened === undefined) throw new Error(`there is no feature ${key.name}`);
    return opened;
  }
}
