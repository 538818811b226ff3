import assert from "node:assert/strict";
import { test } from "node:test";
import { modelServerOf } from "../../src/llm/provider-name.ts";

test("spans name the provider by its address", () => {
  const of = (baseUrl: string | null, apiKey: string | null = null): unknown =>
    Object.values(modelServerOf({ baseUrl, apiKey }, false));
  assert.deepEqual(of(null, "key"), ["openai", "api.openai.com", 443]);
  assert.deepEqual(of("https://api.mistral.ai/v1"), ["mistral_ai", "api.mistral.ai", 443]);
  assert.deepEqual(of("http://127.0.0.1:8000/v1"), ["openai", "127.0.0.1", 8000]);
  assert.deepEqual(of(null), ["ollama", "127.0.0.1", 11434]);
  // As whoever opens the models takes it.
  assert.deepEqual(of("http://gpu.local:11434/v1"), ["ollama", "gpu.local", 11434]);
  assert.deepEqual(of("https://notx.ai/v1"), ["openai", "notx.ai", 443]);
  assert.deepEqual(Object.values(modelServerOf({ baseUrl: null, apiKey: null }, true)), ["weir", null, null]);
});
