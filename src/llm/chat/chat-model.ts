import { APIError, OpenAI } from "openai";

import { MIN_WINDOW } from "../../config/config.ts";
import { AnswerAccumulator, tokenUsage } from "./answer-accumulator.ts";
import { chatEvents, StreamBudget } from "./chat-events.ts";
import { readChunk, reportedUsage } from "./chat-chunk.ts";
import { chatFetch } from "../http/chat-fetch.ts";
import { chatRequestBody, correctedDialect, initialDialect } from "./chat-request.ts";
import type { ChatServer, Dialect } from "./chat-request.ts";
import { classifyFailure, isPaidFailure } from "../http/model-failure.ts";
import { whenSent } from "../http/node-fetch.ts";
import { ModelError } from "../model.ts";
import type { AttemptProgress } from "../http/model-failure.ts";
import type { Model, ModelAnswer, ModelCallOptions, ModelRequest, TokenUsage } from "../model.ts";
import { notify } from "../notify.ts";
import { Watchdog } from "../http/watchdog.ts";

/** Corrections per call, as many as a dialect has fields; the next refusal stands. */
const MAX_CORRECTIONS = 8;

const JSON_BODY = { "content-type": "application/json" };

/**
 * A model server with one attempt per call. The only retry leaves out or changes a field that the server
 * refused; a correction that led to an answer is kept per model.
 */
export function createChatModel(server: ChatServer): Model {
  const client = new OpenAI({
    baseURL: server.baseUrl,
    // The client insists on a key; servers without one ignore it.
    apiKey: server.apiKey ?? "none",
    organization: null,
    project: null,
    maxRetries: 0,
    // Later than the watchdog, which ends the request.
    timeout: server.timeouts.totalMs + 60_000,
    logLevel: "off",
    fetch: chatFetch,
  });
  const dialects = new Map<string, Dialect>();
  return {
    async answer(request, options) {
      let dialect = dialects.get(request.model) ?? initialDialect(request.model, server);
      for (let corrections = 0; ; corrections++) {
        try {
          const answer = await attempt(client, server, request, dialect, options);
          // Only after an answer: a refusal may quote what a person wrote about such a field.
          if (corrections > 0) dialects.set(request.model, dialect);
          return answer;
        } catch (error) {
          const failure = classifyFailure(error, request, new Date());
          const corrected =
            failure.kind === "rejected" ? correctedDialect(dialect, failure.message) : undefined;
          if (corrected === undefined || corrections >= MAX_CORRECTIONS) throw failure;
          dialect = corrected;
        }
      }
    },
  };
}

/** One HTTP request. `onCall` gets every outcome; every failure is a {@link ModelError}. */
async function attempt(
  client: OpenAI,
  server: ChatServer,
  request: ModelRequest,
  dialect: Dialect,
  options: ModelCallOptions,
): Promise<ModelAnswer> {
  options.onAttempt?.(request.model);
  const startedAt = performance.now();
  const call = new Attempt(request, options, startedAt);
  using watchdog = new Watchdog(options.signal, server.timeouts);
  let failure: ModelError | undefined;
  try {
    return await call.run(client, dialect, watchdog);
  } catch (error) {
    failure = verdict(error, request, options.signal, watchdog, server.apiKey);
    throw failure;
  } finally {
    notify(options.onCall, {
      model: request.model,
      outcome: failure?.kind ?? "answered",
      reason: failure?.reason,
      usage: call.usage,
      isPaid: failure === undefined || isPaidFailure(failure, call.progress),
      receivedTokens: failure === undefined && call.usage !== undefined ? 0 : call.receivedTokens,
      firstTokenMs: call.firstTokenMs,
      totalMs: performance.now() - startedAt,
    });
  }
}

/** The client reports an ended request in several ways or not at all: caller and watchdog come first. */
function verdict(
  error: unknown,
  request: ModelRequest,
  caller: AbortSignal,
  watchdog: Watchdog,
  apiKey: string | undefined,
): ModelError {
  const { model } = request;
  if (caller.aborted) return new ModelError("aborted", model, "the caller ended the call", { cause: error });
  if (watchdog.verdict !== undefined)
    return new ModelError("timeout", model, watchdog.verdict, { cause: error });
  return classifyFailure(error, request, new Date(), apiKey);
}

class Attempt {
  firstTokenMs: number | undefined;
  readonly #request: ModelRequest;
  readonly #options: ModelCallOptions;
  readonly #startedAt: number;
  readonly #answer: AnswerAccumulator;
  #events = 0;
  #progress: AttemptProgress = "begun";
  #usageOfError: TokenUsage | undefined;

  constructor(request: ModelRequest, options: ModelCallOptions, startedAt: number) {
    this.#request = request;
    this.#options = options;
    this.#startedAt = startedAt;
    this.#answer = new AnswerAccumulator(request);
  }

  get usage(): TokenUsage | undefined {
    return this.#usageOfError ?? this.#answer.usage;
  }

  get receivedTokens(): number {
    return this.#answer.receivedTokens;
  }

  get progress(): AttemptProgress {
    return this.receivedTokens > 0 ? "answering" : this.#progress;
  }

  async run(client: OpenAI, dialect: Dialect, watchdog: Watchdog): Promise<ModelAnswer> {
    watchdog.signal.throwIfAborted();
    try {
      const body = JSON.stringify(chatRequestBody(this.#request, dialect));
      const { signal } = watchdog;
      // A text: the client's encoder would go over an object several times.
      const response = await client
        .post("/chat/completions", {
          body,
          headers: JSON_BODY,
          signal,
          stream: true,
          fetchOptions: whenSent(() => (this.#progress = "sent")),
        })
        .asResponse();
      this.#progress = "accepted";
      const budget = new StreamBudget();
      const events = chatEvents(response, budget, () => this.#answer.done());
      await this.#read(events, budget, watchdog);
    } catch (error) {
      if (error instanceof APIError) this.#usageOfError = usageIn(error);
      // A complete answer stays valid if the connection fails after it.
      if (!this.#answer.isFinished || this.#options.signal.aborted) throw error;
    }
    this.#options.signal.throwIfAborted();
    return this.#complete(watchdog);
  }

  async #read(stream: AsyncIterable<unknown>, budget: StreamBudget, watchdog: Watchdog): Promise<void> {
    for await (const event of stream) {
      this.#events++;
      const { isAlive, isAnswer, text, voided } = this.#answer.add(readChunk(event));
      if (isAlive) budget.earn();
      if (isAnswer) this.firstTokenMs ??= performance.now() - this.#startedAt;
      if (voided) notify(this.#options.onRestart);
      if (text !== "") notify(this.#options.onText, text);
      if (this.#answer.isFinished) watchdog.finishing();
      else if (isAlive) watchdog.progress();
      // Leaving the loop ends the request.
      if (this.#answer.isOverlong) return;
    }
    this.#answer.closed();
  }

  #complete(watchdog: Watchdog): ModelAnswer {
    const { model, maxOutputTokens } = this.#request;
    const accumulated = this.#answer;
    if (!accumulated.isFinished && !accumulated.isOverlong) {
      throw new ModelError("unavailable", model, this.#cutMessage(watchdog));
    }
    if (accumulated.finishReason === "error") {
      throw new ModelError("unavailable", model, "the server ended its answer with an error");
    }
    const rest = accumulated.end();
    if (rest.voided) notify(this.#options.onRestart);
    if (rest.text !== "") notify(this.#options.onText, rest.text);
    const answer = accumulated.answer(model);
    if (answer !== undefined) return answer;
    if (accumulated.finishReason === "filtered") {
      const why = "the provider's filter ended the answer before its first word";
      throw new ModelError("rejected", model, why, { reason: "moderation" });
    }
    const window =
      accumulated.finishReason === "length" ? endedByWindow(accumulated.usage, maxOutputTokens) : undefined;
    if (window !== undefined) {
      const why = `the request has filled the model's window of ${window} tokens, and left nothing for an answer`;
      throw new ModelError("context_length", model, why, {
        window,
        isSurelySize: true,
        windowSource: "measured",
      });
    }
    const reason =
      accumulated.finishReason === "length" || accumulated.isOverlong
        ? `the model spent its ${maxOutputTokens} output tokens on thinking: raise max_output_tokens`
        : "an answer without text and without calls";
    throw new ModelError("empty", model, reason);
  }

  #cutMessage(watchdog: Watchdog): string {
    if (watchdog.verdict !== undefined) return watchdog.verdict;
    return this.#events === 0
      ? "the server's answer holds no events: does base_url point at an OpenAI-compatible API (most end in /v1)?"
      : this.#answer.isBegun
        ? "the stream ended before the answer did"
        : "the server sent something that is no chat completion";
  }
}

/** An answer that was cut after so few tokens, far from the limit that was asked for, was cut by the window. */
const FEW_TOKENS = 16;

/**
 * The window that has ended an answer without a word (LM Studio, vLLM behind some gateways): all that it holds was counted.
 * @returns tokens; undefined: the limit of the answer may have ended it
 */
function endedByWindow(usage: TokenUsage | undefined, maxOutputTokens: number): number | undefined {
  if (usage === undefined || usage.promptTokens < MIN_WINDOW) return undefined;
  const { promptTokens, completionTokens } = usage;
  const isFarFromLimit = completionTokens <= Math.min(FEW_TOKENS, maxOutputTokens / 4);
  return isFarFromLimit ? promptTokens + completionTokens : undefined;
}

/** What a server reports with an error. */
function usageIn({ error }: APIError): TokenUsage | undefined {
  const told: unknown = error;
  return typeof told === "object" && told !== null && "usage" in told
    ? tokenUsage(reportedUsage.parse(told.usage))
    : undefined;
}
