/**
 * Model servers: chooses the server of a model, sends requests in its API and dialect, retries, and learns windows,
 * factors and refusals. The only room with model HTTP; it knows requests and answers, not channels, and stores lessons
 * through interfaces.
 */

import type { LlmConfig, ModelConfig } from "../config/config.ts";
import type { Anchor } from "../core/calibration.ts";
import type { ModelPrice } from "../core/cost.ts";
import type { CacheRule } from "./caches/rules.ts";
import type { KnownWindow } from "./catalog/known-windows.ts";
import type { LearnedModel } from "./catalog/learned-models.ts";
import type { LearnedSource, WindowEvidence } from "./catalog/window-evidence.ts";
import type { Model } from "./model.ts";

/** The part of `[llm]` that a reload changes for later requests. */
export type ModelsConfig = Pick<LlmConfig, "models" | "servers">;

/** The models of one server, under their full names, or of several. */
export interface ModelSource extends AsyncDisposable {
  /** Makes one attempt per answer. Takes the name `auto`, too. */
  readonly model: Model;
  /** The built-in model answers, since neither a server nor a key was found. */
  readonly isOffline: boolean;
  /** One line for the log and the status; no secrets. */
  describe(): string;
  /** Replaces the settings of `[models]`, from the next request on. */
  configure(models: readonly ModelConfig[]): void;
  /**
   * The server's name for a configured model. Also learns the windows that the server reports.
   * @param signal ends the requests
   * @throws ModelError if the server must be asked and does not answer; its message has the remedy
   */
  resolve(configured: string, signal?: AbortSignal): Promise<string>;
  /** The server's name for a configured model without a request; undefined: the server must be asked. */
  nameOf(configured: string): string | undefined;
  /**
   * Loads the lessons of earlier runs. Call it after the agents are made: a small learned window must not prevent the start.
   * @returns the lessons, without expired windows
   */
  recallLearned(): Promise<readonly LearnedModel[]>;
  /**
   * A model's window in tokens: the lower of the configured window and a limit from a refusal or Ollama. Without both, the server's
   * listing; without that, the catalogue; at last 32,768.
   * @param configured the agent's setting (0: not set); `[models]` overrides it
   */
  windowOf(model: string, configured: number): number;
  /** The same window, with its source and expiry. */
  knownWindow(model: string, configured: number): KnownWindow;
  /**
   * Learns a window from a model's refusals or from its server's counts. The window only shrinks, to 1,024 at least,
   * and never below a prompt that the model has answered. It is forgotten after a day (30 days if the server has stated
   * it, the default), or when `[models]` sets a larger one than before.
   */
  learnWindow(model: string, tokens: number, source?: LearnedSource): void;
  /** Evidence of a model's window from its answers and refusals. */
  evidenceOf(model: string): WindowEvidence;
  /** Real tokens per estimated token of a model: 1 until its provider has reported otherwise. */
  factorOf(model: string): number;
  /** Learns from the reported tokens of an answered request: the factor rises at once and falls slowly. */
  learnFactor(model: string, report: Anchor): void;
  /** Whether pictures are sent to a model: yes, unless `[models]` excludes them. */
  seesImages(model: string): boolean;
  /** A model's price, from the first of these that has one: configuration, server's listing, price table; undefined: none has. */
  priceOf(model: string): ModelPrice | undefined;
  /** How a model's requests are cached; undefined: not at all. */
  cacheRule(model: string): CacheRule | undefined;
  /** Asks the server for its models with their prices, once. Never throws before `signal` ends. */
  askPrices(signal: AbortSignal): Promise<void>;
}

/** The models that agents may use, with their windows. */
export interface Models extends Omit<ModelSource, "configure"> {
  /** Replaces the servers and the settings of `[models]`, from the next request on; calls in flight continue. */
  configure(config: ModelsConfig): void;
  /** Runs synchronous work as if `[llm.servers]` and `[models]` had these settings. */
  trying<Result>(config: ModelsConfig, work: () => Result): Result;
}
