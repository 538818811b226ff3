import { warnOfFeatures } from "../features/features.ts";
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { Budgets } from "../budget/budgets.ts";
import { secretsOf } from "../admin/secrets.ts";
import type { LostModels } from "../channel/lost-models.ts";
import type { Renewal } from "../channel/renewal.ts";
import type { FeatureWorker } from "../features/feature.ts";
import type { Retention } from "../channel/retention.ts";
import { type Changes, changesBetween, takeUp } from "../config/changes.ts";
import type { Config } from "../config/config.ts";
import { mostRawMessages, type Resumption } from "../channel/resumption.ts";
import type { Platform } from "../platforms/platform.ts";
import { errorMessage } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { Binding } from "../router/bindings.ts";
import type { ConfirmedNames } from "../router/confirmed-names.ts";
import type { Router } from "../router/router.ts";
import {
  type CurrentSetup,
  makeSetup,
  ownerRolesOf,
  readPrompts,
  type Setup,
  type SetupParts,
  sharedMemoriesOf,
} from "./setup.ts";
import type { Store } from "../store/store.ts";

export interface ReloadParts extends SetupParts {
  readonly current: CurrentSetup;
  readonly store: Pick<Store, "sharedMemories" | "channels">;
  readonly renewal: Pick<Renewal, "renew">;
  readonly resumption: Pick<Resumption, "resume">;
  readonly router: Pick<Router, "rebound" | "strangers">;
  readonly names: ConfirmedNames;
  readonly budgets: Budgets;
  readonly work: Pick<Required<FeatureWorker>, "reconfigured">;
  readonly lostModels: Pick<LostModels, "start">;
  readonly retention: Pick<Retention, "configure">;
  readonly platforms: readonly Pick<Platform, "name">[];
  readonly bindingsOf: (config: Config) => readonly Binding[];
  readonly onConfigured: (config: Config) => void;
}

/**
 * Puts configurations in force while the daemon runs. Each decision uses one setup: the swap is one assignment; everything is built
 * before it, and nothing can fail after it. Running turns and compactions keep their setup; the channel's next ones use the new one,
 * as after a restart.
 */
export class Reloading {
  readonly #parts: ReloadParts;
  readonly #started: Config;
  /** Resolves when the actors and servers of the earlier setups have ended. */
  #behind: Promise<void> = Promise.resolve();
  /** The database did not answer after a reload: the next one repeats that work even without a change. */
  #isOwed = false;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
    this.#started = parts.current.setup.config;
  }

  /**
   * Puts a configuration in force, except for settings that need a restart. One at a time. Does nothing without a change.
   * @returns `prompts`: templates or the files in agents' folders have changed
   * @throws OperatorError that lists its errors, WeirError if the database does not answer; the earlier setup stays in force
   */
  async put(next: Config): Promise<Changes & { readonly prompts: boolean }> {
    const { current, store, secrets, names } = this.#parts;
    const before = current.setup;
    const config = takeUp(this.#started, next);
    secrets.add([...secretsOf(next), ...secretsOf(config)]);
    const bindings = this.#parts.bindingsOf(config);
    const prompts = readPrompts(config, this.#parts.log, before.prompts);
    const setup = await makeSetup({ config, bindings, prompts }, this.#parts, before);
    const isSame = isDeepStrictEqual(before.config, config);
    const reloaded = {
      live: changesBetween(before.config, config).live,
      atStart: changesBetween(config, next).atStart,
      prompts: before.prompts !== prompts || (isSame && hasOtherAgents(before, setup)),
    };
    if (isSame && !reloaded.prompts && !this.#isOwed && names.areConfirmed) return reloaded;
    warnOfFeatures(setup, this.#parts.log);
    await store.sharedMemories.open(sharedMemoriesOf(config));
    const confirm = await names.prepare({ bindings, ownerRoles: ownerRolesOf(config) });
    this.#swap(setup, confirm);
    return reloaded;
  }

  /** Must neither wait nor fail. */
  #swap(setup: Setup, confirm: () => void): void {
    const { current, models, budgets, router, work, lostModels, retention, renewal } = this.#parts;
    const before = current.setup;
    models.configure(setup.config.llm);
    setup.agents.startServers();
    confirm();
    current.setup = setup;
    budgets.configure(setup.config.agents);
    router.rebound();
    work.reconfigured();
    lostModels.start();
    retention.configure(setup.config.retention);
    this.#parts.onConfigured(setup.config);
    this.#isOwed = false;
    const renewed = renewal.renew();
    this.#behind = Promise.all([this.#behind, this.#finish(before, setup, renewed)]).then(() => undefined);
  }

  /** Resolves when all earlier setups have ended. */
  async idle(): Promise<void> {
    await this.#behind;
  }

  /** Must not throw. */
  async #finish(before: Setup, setup: Setup, renewed: Promise<void>): Promise<void> {
    const { budgets, resumption, router, platforms, store, log } = this.#parts;
    try {
      // Counts newly configured budgets, and resumes work that is due by the new thresholds.
      await budgets.refresh();
      await router.strangers.open();
      const isSame = (one: { readonly id: AgentId }): boolean => setup.agents.named(one.id) !== undefined;
      if (!before.config.agents.every(isSame)) await tellOfLostAgents(setup.config, store, log);
      await resumption.resume(
        platforms.map(({ name }) => name),
        mostRawMessages(setup.config),
      );
    } catch (error) {
      this.#isOwed = true;
      log.warn({ why: errorMessage(error) }, "reload_looks_again_later");
    }
    await renewed;
    await before.agents.makeWay(setup.agents);
  }
}

/** Logs how many channels have an agent that is not configured. @throws errors of the database */
export async function tellOfLostAgents(
  { agents }: Pick<Config, "agents">,
  { channels }: Pick<Store, "channels">,
  log: Logger,
): Promise<void> {
  const known = agents.map(({ id }) => id);
  for (const lost of await channels.withOtherAgents(known))
    log.warn(
      lost,
      "channels_without_agent: each follows its binding with its next message; without one, nobody answers there",
    );
}

/** Whether agents differ although the configuration is the same: their folders' content has changed. */
function hasOtherAgents(before: Setup, setup: Setup): boolean {
  return [...setup.agents.all()].some((one) => before.agents.named(one.agent.config.id) !== one);
}
