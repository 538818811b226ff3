import type { LlmConfig, ModelConfig } from "../../src/config/config.ts";

/** `[llm]` of a test: no server, no model settings, and time-outs that a busy machine does not reach. */
export function llm(overrides: Partial<LlmConfig> = {}): LlmConfig {
  return {
    baseUrl: null,
    apiKey: null,
    firstTokenTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    api: "auto",
    maxRetries: 3,
    servers: [],
    models: [],
    embeddings: null,
    transcription: null,
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
