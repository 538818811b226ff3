/** Asks a model in tests: a request with defaults, and a record of all callbacks of the call. */
import type { ModelMessage } from "../../src/core/context.ts";
import {
  ModelError,
  type Model,
  type ModelAnswer,
  type ModelCallRecord,
  type ModelRequest,
} from "../../src/llm/model.ts";

export const SEARCH_HISTORY = {
  name: "search_history",
  description: "Searches.",
  parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
} as const;

export function modelRequest(overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: "test-model",
    messages: [{ role: "user", text: "[2026-11-21 14:05] Ann: hello" }],
    tools: [],
    toolChoice: "auto",
    maxOutputTokens: 1000,
    temperature: undefined,
    ...overrides,
  };
}

export interface Asked {
  /** Undefined: the call failed. */
  readonly answer: ModelAnswer | undefined;
  readonly failure: ModelError | undefined;
  /** The text that a person would see: the pieces since the last restart. */
  readonly shown: string;
  readonly pieces: readonly string[];
  readonly restarts: number;
  readonly records: readonly ModelCallRecord[];
}

/** Asks and settles; throws only errors other than {@link ModelError}. */
export async function ask(
  model: Model,
  overrides: Partial<ModelRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Asked> {
  const pieces: string[] = [];
  const records: ModelCallRecord[] = [];
  let shown = "";
  let restarts = 0;
  let answer: ModelAnswer | undefined;
  let failure: ModelError | undefined;
  try {
    answer = await model.answer(modelRequest(overrides), {
      signal,
      onText: (piece) => {
        pieces.push(piece);
        shown += piece;
      },
      onRestart: () => {
        restarts++;
        shown = "";
      },
      onCall: (record) => records.push(record),
    });
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    failure = error;
  }
  return { answer, failure, shown, pieces, restarts, records };
}

/** A person's line, as the context renders it. */
export function said(time: string, author: string, text: string): ModelMessage {
  return { role: "user", text: `[2026-11-21 ${time}] ${author}: ${text}` };
}
