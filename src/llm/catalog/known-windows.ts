import { configuredPrice, configuredWindow, MIN_WINDOW, type ModelConfig } from "../../config/config.ts";
import {
  type Anchor,
  isTelling,
  MAX_FACTOR,
  MIN_FACTOR,
  nextFactor,
  UNCALIBRATED,
} from "../../core/calibration.ts";
import type { ModelPrice } from "../../core/cost.ts";
import type { LearnedModel, LearnedWindow } from "./learned-models.ts";
import { UNKNOWN_WINDOW } from "./model-catalog.ts";

/** How long a refusal is believed: servers are given larger windows, and nobody tells. */
const BELIEVED_MS = 30 * 24 * 3_600_000;
/** A change by less is not worth a write. */
const KEPT_CHANGE = 0.02;

/** What was learned is told to whoever keeps it. */
export interface Lessons {
  /** What an earlier run has learned. */
  load(): Promise<readonly LearnedModel[]>;
  keepWindow(model: string, window: LearnedWindow): void;
  keepFactor(model: string, factor: number): void;
  readonly now: () => Date;
}

/** Nothing is known, and nothing is kept. */
export const NO_LESSONS: Lessons = {
  load: async () => [],
  keepWindow: () => undefined,
  keepFactor: () => undefined,
  now: () => new Date(),
};

/** What is known of models: configured, told by the server, or learned from refusals and reports. */
export abstract class KnownWindows {
  readonly #factors = new ModelFactors();
  readonly #keptFactors = new Map<string, number>();
  readonly #refused = new Map<string, LearnedWindow>();
  /** Tokens of the largest answered prompt, as its provider counted them. */
  readonly #answered = new Map<string, number>();
  #configured: readonly ModelConfig[];
  readonly #lessons: Lessons;

  constructor(configured: readonly ModelConfig[], lessons: Lessons) {
    this.#configured = configured;
    this.#lessons = lessons;
  }

  configure(models: readonly ModelConfig[]): void {
    this.#configured = models;
  }

  trying<Result>(models: readonly ModelConfig[], work: () => Result): Result {
    const before = this.#configured;
    this.#configured = models;
    try {
      return work();
    } finally {
      this.#configured = before;
    }
  }

  async recallLearned(): Promise<readonly LearnedModel[]> {
    const known = await this.#lessons.load();
    for (const { model, window, factor } of known) {
      if (window !== null) this.#refused.set(model, window);
      if (factor === null) continue;
      this.#factors.set(model, factor);
      this.#keptFactors.set(model, this.#factors.of(model));
    }
    return known.map((one) => ({ ...one, window: this.#refusalOf(one.model) ?? null }));
  }

  windowOf(model: string, configured: number): number {
    const limit = this.#limitOf(model);
    const said = configuredWindow(this.#configured, model, configured);
    if (said > 0) return Math.min(said, limit ?? said);
    return limit ?? this.believedWindow(model) ?? UNKNOWN_WINDOW;
  }

  learnWindow(model: string, tokens: number, refusedBy = model): void {
    const before = this.#refusalOf(model)?.tokens ?? tokens;
    const window: LearnedWindow = {
      tokens: Math.max(MIN_WINDOW, Math.min(tokens, before)),
      configured: configuredWindow(this.#configured, model, 0),
      at: this.#lessons.now(),
    };
    this.#refused.set(model, window);
    if (refusedBy === model) this.#lessons.keepWindow(model, window);
  }

  factorOf(model: string): number {
    return this.#factors.of(model);
  }

  learnFactor(model: string, report: Anchor): void {
    this.#factors.learn(model, report);
    this.#keepFactor(model);
    if (!isTelling(report) || report.reported <= (this.#answered.get(model) ?? 0)) return;
    this.#answered.set(model, report.reported);
    this.#correctRefusal(model, report.reported);
  }

  seesImages(model: string): boolean {
    return this.saidOf(model)?.seesImages ?? true;
  }

  priceOf(model: string): ModelPrice | undefined {
    return configuredPrice(this.#configured, model) ?? this.believedPrice(model);
  }

  /** Tokens of the longest answer to ask a model for, of those that an agent wants. */
  protected outputOf(model: string, wanted: number): number {
    return Math.min(wanted, this.saidOf(model)?.maxOutputTokens || wanted);
  }

  /** What `[models]` says of a model. */
  protected saidOf(model: string): ModelConfig | undefined {
    return this.#configured.find(({ name }) => name === model);
  }

  protected abstract believedWindow(model: string): number | undefined;

  /** The window, in tokens, with which the server runs the model. */
  protected abstract runningWindow(model: string): number | undefined;

  protected abstract believedPrice(model: string): ModelPrice | undefined;

  #limitOf(model: string): number | undefined {
    const running = this.runningWindow(model);
    const refused = this.#refusalOf(model)?.tokens;
    if (refused === undefined) return running;
    // The number in a refusal may be wrong. An answered prompt did fit.
    return Math.min(running ?? Infinity, Math.max(refused, this.#answered.get(model) ?? 0));
  }

  /** The refusal that is still believed: the newest word counts, the operator's or the server's. */
  #refusalOf(model: string): LearnedWindow | undefined {
    const refused = this.#refused.get(model);
    if (refused === undefined) return undefined;
    const said = configuredWindow(this.#configured, model, 0);
    if (said > refused.tokens && said !== refused.configured) return undefined;
    const age = this.#lessons.now().getTime() - refused.at.getTime();
    return age < BELIEVED_MS ? refused : undefined;
  }

  /** A kept refusal must not come back smaller than what was answered since. */
  #correctRefusal(model: string, answered: number): void {
    const refused = this.#refusalOf(model);
    if (refused === undefined || answered <= refused.tokens * (1 + KEPT_CHANGE)) return;
    const window = { ...refused, tokens: answered };
    this.#refused.set(model, window);
    this.#lessons.keepWindow(model, window);
  }

  #keepFactor(model: string): void {
    const factor = this.#factors.of(model);
    const kept = this.#keptFactors.get(model) ?? UNCALIBRATED.factor;
    if (Math.abs(factor - kept) <= kept * KEPT_CHANGE) return;
    this.#keptFactors.set(model, factor);
    this.#lessons.keepFactor(model, factor);
  }
}

/** Real tokens per estimated token, by model. All channels share it. */
export class ModelFactors {
  readonly #factors = new Map<string, number>();

  of(model: string): number {
    return this.#factors.get(model) ?? UNCALIBRATED.factor;
  }

  learn(model: string, report: Anchor): void {
    this.#factors.set(model, nextFactor(this.of(model), report));
  }

  /** Takes over what an earlier run has learned, within the bounds of what a run can learn. */
  set(model: string, factor: number): void {
    this.#factors.set(model, Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, factor)));
  }
}
