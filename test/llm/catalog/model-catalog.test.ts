import assert from "node:assert/strict";
import { test } from "node:test";

import { knownWindow } from "../../../src/llm/catalog/model-catalog.ts";

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
  };
  for (const [name, window] of Object.entries(names)) assert.equal(knownWindow(name), window, name);
});

test("the catalogue does not guess", () => {
  for (const name of ["", "my-finetune", "claude-99", "qwen9", "auto", "offline"]) {
    assert.equal(knownWindow(name), undefined, name);
  }
});
