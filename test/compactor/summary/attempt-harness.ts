/** One attempt of the worker against a scripted model server. */
import assert from "node:assert/strict";
import {
  type AttemptOptions,
  type AttemptOutcome,
  attemptSummary,
  type Material,
} from "../../../src/compactor/summary/summary-attempt.ts";
import type { JobResult } from "../../../src/core/compaction.ts";
import type { Entry } from "../../../src/core/entry.ts";
import type { Summary } from "../../../src/core/history.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { ModelCallRecord } from "../../../src/llm/model.ts";
import { createRetryingModel, type RetryOptions } from "../../../src/llm/retrying-model.ts";
import type { ChatRequest, ModelServer } from "../../support/model-server.ts";
import { piecesIn } from "../../support/request-pieces.ts";
import { workerAgent } from "../agent.ts";
import { said } from "../entries.ts";

const agent = workerAgent();
/** As `agents.ts` has it. */
export const MAX_CALLS = 10;
export const NOTHING: JobResult = { parts: [], memories: [], summary: null };
export const GOOD = "Ann decided on 2026-11-21 that the release is on Friday, because Ben is away on Monday.";
export const LONG = "The release is on Friday and not on Monday. ".repeat(40);

/** A conversation of so many lines, of about 24 estimated tokens each. */
export function conversation(length: number): Entry[] {
  return Array.from({ length }, (_, index) =>
    said(
      index + 1,
      index % 2 === 0 ? "Ann" : "Ben",
      `We talk about topic-${index} and nothing but topic-${index}.`,
    ),
  );
}

export function leaf(entries = conversation(40)): Material {
  return { kind: "leaf", entries, summaries: [], neighbour: null };
}

export function summary(fromSeq: number, toSeq: number, words: string): Summary {
  const tokens = estimateTokens(words);
  return { fromSeq, toSeq, span: null, level: 1, kind: "model", text: words, tokens, needsRedo: false };
}

export interface Tried {
  readonly outcome: AttemptOutcome;
  readonly saved: readonly JobResult[];
  readonly calls: readonly ModelCallRecord[];
}

export async function attempt(
  server: ModelServer,
  material: Material,
  { retries, ...overrides }: Partial<AttemptOptions> & { readonly retries?: Partial<RetryOptions> } = {},
): Promise<Tried> {
  const chat = createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts: { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 },
  });
  const saved: JobResult[] = [];
  const calls: ModelCallRecord[] = [];
  const outcome = await attemptSummary(agent, material, {
    model: createRetryingModel(chat, retries ?? { maxAttempts: 1 }),
    modelName: "test-model",
    windowTokens: 32_768,
    capTokens: 200,
    sourceTokens: (material.entries ?? []).reduce((sum, { tokens }) => sum + tokens, 0),
    thinkingAllowance: 100,
    maxCalls: MAX_CALLS,
    memory: false,
    mayEndFrom: null,
    done: NOTHING,
    signal: new AbortController().signal,
    onProgress: async (result) => void saved.push(result),
    onCall: (record, estimated) => {
      assert.ok(estimated > 500);
      calls.push(record);
    },
    ...overrides,
  });
  return { outcome, saved, calls };
}

export function textOf({ outcome }: Tried): string {
  return outcome.kind === "finished" ? (outcome.result.summary?.text ?? "") : outcome.kind;
}

/** Its pieces: background, transcript, summaries and task each alone. */
export function messagesOf(request: ChatRequest | undefined): { role: string; text: string }[] {
  return piecesIn(request).map(({ role, content }) => ({ role, text: content ?? "" }));
}

/** The piece with the transcript. */
export function transcriptOf(request: ChatRequest | undefined): string {
  return messagesOf(request).find(({ text: words }) => /^\d+\. \[/.test(words))?.text ?? "";
}
