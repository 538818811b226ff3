import assert from "node:assert/strict";
import { test } from "node:test";

import { knownPrice, knownWindow } from "../../../src/llm/catalog/model-catalog.ts";

test("the catalogue knows a model under the names that servers and gateways give it", () => {
  const names = {
    "gpt-4o-mini": 128_000,
    "openai/gpt-4.1-nano": 1_047_576,
    "gpt-4-0613": 8192,
    "gpt-5-mini": 272_000,
    "gpt-6-luna": 922_000,
    "anthropic/claude-opus-4.6": 1_000_000,
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": 200_000,
    "models/gemini-2.5-flash": 1_048_576,
    "meta-llama/Meta-Llama-3.1-8B-Instruct": 131_072,
    "llama3.2:3b": 131_072,
    "llama3:8b": 8192,
    "Qwen/Qwen2.5-7B-Instruct": 32_768,
    "qwen3:14b": 32_768,
    "qwen3-coder:30b": 262_144,
    "gemma3:1b": 32_768,
    "gemma3:4b": 131_072,
    "gpt-oss:20b": 131_072,
    "phi4:latest": 16_384,
    "glm-4.7": 131_072,
    "zai-org/GLM-5.3": 1_048_576,
    "qwen3-coder-next:latest": 131_072,
    "moonshotai/kimi-k2.6": 262_144,
    "kimi-k2-turbo-preview": 131_072,
    "mistral-medium-3-5": 262_144,
    "mistral-medium-latest": 131_072,
    "x-ai/grok-4.3": 1_000_000,
    "grok-4-fast": 256_000,
  };
  for (const [name, window] of Object.entries(names)) assert.equal(knownWindow(name), window, name);
});

test("the catalogue does not guess", () => {
  for (const name of ["", "my-finetune", "claude-99", "qwen9", "auto", "offline"]) {
    assert.equal(knownWindow(name), undefined, name);
  }
});

test("the catalogue's prices hold at the provider's own server, and where they are passed on", () => {
  const luna = { input: 0.1, cached: 0.01, write: 0.125, output: 0.5 };
  assert.deepEqual(knownPrice("api.openai.com", "gpt-6-luna"), luna);
  assert.deepEqual(knownPrice("eu.api.openai.com", "gpt-6-luna-2026-09-22"), luna);
  assert.deepEqual(knownPrice("openrouter.ai", "openai/gpt-6-luna"), luna);
  assert.equal(knownPrice("openrouter.ai", "anthropic/claude-opus-5.5")?.output, 20);
  assert.equal(knownPrice("api.anthropic.com", "claude-opus-4-5-20251101")?.input, 5);
  for (const [host, model] of [
    ["127.0.0.1", "gpt-6-luna"],
    ["api.openai.com.example.org", "gpt-6-luna"],
    ["api.openai.com", "gpt-6-luna-fast"],
    ["api.openai.com", "my-finetune"],
    ["api.openai.com", ""],
  ] as const)
    assert.equal(knownPrice(host, model), undefined, `${model} at ${host}`);
});
