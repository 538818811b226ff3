import type { LlmConfig, ModelConfig } from "../../src/config/config.ts";

/** `[llm]` of a test: no server, and no model settings. */
export function llm(overrides: Partial<LlmConfig> = {}): LlmConfig {
  return {
    baseUrl: null,
    apiKey: null,
    firstTokenTimeoutMs: 500,
    idleTimeoutMs: 500,
    api: "auto",
    maxRetries: 3,
    servers: [],
    models: [],
    embeddings: null,
    ...overrides,
  };
}

/** A table of `[models."NAME"]`, otherwise with defaults. */
export function modelSaid(overrides: Partial<ModelConfig>): ModelConfig {
  return {
    name: "small",
    contextWindow: 0,
    maxOutputTokens: 0,
    priceIn: "unknown",
    priceOut: "unknown",
    priceCached: "price_in",
    writePrice: "price_in",
    seesImages: true,
    cacheMarkers: "auto",
    ...overrides,
  };
}
