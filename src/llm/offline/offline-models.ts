import type { ModelConfig } from "../../config/config.ts";
import type { ModelPrice } from "../../core/cost.ts";
import { KnownWindows, NO_LESSONS } from "../catalog/known-windows.ts";
import type { Model } from "../model.ts";
import type { ModelSource } from "../models.ts";
import { createOfflineModel, OFFLINE_MODEL } from "./offline-model.ts";

/** The built-in offline model in place of a server. */
export class OfflineModels extends KnownWindows implements ModelSource {
  readonly model: Model;
  readonly isOffline = true;
  readonly #isOllamaEmpty: boolean;

  constructor(configured: readonly ModelConfig[], isOllamaEmpty: boolean, model = createOfflineModel()) {
    super(configured, NO_LESSONS);
    this.model = model;
    this.#isOllamaEmpty = isOllamaEmpty;
  }

  describe(): string {
    const hint = this.#isOllamaEmpty ? " An Ollama answers but has no model: `ollama pull` one." : "";
    return `offline: not a language model, it only quotes. Set OPENAI_API_KEY or llm.base_url for one.${hint}`;
  }

  resolve(): Promise<string> {
    return Promise.resolve(OFFLINE_MODEL);
  }

  nameOf(): string {
    return OFFLINE_MODEL;
  }

  cacheRule(): undefined {
    return undefined;
  }

  askPrices(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  protected override believedWindow(): undefined {
    return undefined;
  }

  protected override runningWindow(): undefined {
    return undefined;
  }

  protected override believedPrice(model: string): ModelPrice | undefined {
    return model === OFFLINE_MODEL ? { input: 0, cached: 0, write: 0, output: 0 } : undefined;
  }
}
