import { configuredWindow, MIN_WINDOW, type ModelConfig } from "../../config/config.ts";
import { type Anchor, isTelling, nextFactor, UNCALIBRATED } from "../../core/calibration.ts";
import { UNKNOWN_WINDOW } from "./model-catalog.ts";

/** The windows and token factors that were learned of models. */
export abstract class KnownWindows {
  readonly #factors = new ModelFactors();
  readonly #refused = new Map<string, number>();
  /** Tokens of the largest answered prompt, as its provider counted them. */
  readonly #answered = new Map<string, number>();
  readonly #configured: readonly ModelConfig[];

  constructor(configured: readonly ModelConfig[]) {
    this.#configured = configured;
  }

  windowOf(model: string, configured: number): number {
    const limit = this.#limitOf(model);
    const said = configuredWindow(this.#configured, model, configured);
    if (said > 0) return Math.min(said, limit ?? said);
    return limit ?? this.believedWindow(model) ?? UNKNOWN_WINDOW;
  }

  learnWindow(model: string, tokens: number): void {
    this.#refused.set(model, Math.max(MIN_WINDOW, Math.min(tokens, this.#refused.get(model) ?? tokens)));
  }

  factorOf(model: string): number {
    return this.#factors.of(model);
  }

  learnFactor(model: string, report: Anchor): void {
    this.#factors.learn(model, report);
    if (isTelling(report) && report.reported > (this.#answered.get(model) ?? 0))
      this.#answered.set(model, report.reported);
  }

  /** Tokens of the longest answer to ask a model for, of those that an agent wants. */
  protected outputOf(model: string, wanted: number): number {
    const said = this.#configured.find(({ name }) => name === model)?.maxOutputTokens;
    return Math.min(wanted, said || wanted);
  }

  protected abstract believedWindow(model: string): number | undefined;

  /** The window, in tokens, with which the server runs the model. */
  protected abstract runningWindow(model: string): number | undefined;

  #limitOf(model: string): number | undefined {
    const running = this.runningWindow(model);
    const refused = this.#refused.get(model);
    if (refused === undefined) return running;
    // The number in a refusal may be wrong. An answered prompt did fit.
    return Math.min(running ?? Infinity, Math.max(refused, this.#answered.get(model) ?? 0));
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
}
