import type { OpenAI } from "openai";
import { APIError } from "openai/error";
import { z } from "zod";
import { MIN_WINDOW } from "../../config/config.ts";
import { AnswerAccumulator, tokenUsage } from "./answer-accumulator.ts";
import { chatEvents, StreamBudget } from "./chat-events.ts";
import { readChunk, reportedUsage } from "./chat-chunk.ts";
import type { ClientOptions } from "../http/openai-client.ts";
import {
  chatRequestBody,
  type ChatServer,
  initialDialect,
  nameAtServer,
  outputLimitOf,
} from "./chat-request.ts";
import { type AttemptProgress, classifyFailure, isPaidFailure } from "../http/model-failure.ts";
import { whenSent } from "../http/node-fetch.ts";
import { inSpan } from "../../telemetry/trace-scope.ts";
import { RefusedFields } from "../catalog/refused-fields.ts";
import {
  type Api,
  areNamedApart,
  describeRefused,
  dialectFor,
  lessonsOf,
  type Refusal,
  type Refused,
} from "../dialect.ts";
import {
  type Model,
  type ModelAnswer,
  type ModelCallOptions,
  ModelError,
  type ModelRequest,
  type TokenUsage,
} from "../model.ts";
import { messagesWire } from "../messages/messages-wire.ts";
import { responsesWire } from "../responses/responses-wire.ts";
import type { Wire, WireReader } from "../wire.ts";
import { sliceWhole } from "../../text/text.ts";
import { notify } from "../notify.ts";
import { Watchdog } from "../http/watchdog.ts";
import { inKnownRoles } from "./known-roles.ts";

/** Most corrections per call: a dialect has fewer differences. */
const MAX_CORRECTIONS = 12;
/** Length of a refusal that is searched for names of fields, in characters. */
const READ_WORDS = 4000;

/**
 * A model server with one attempt per call, by the API that its model takes. The only retry omits or changes fields
 * that the server has refused: each once, and never sends them to this model again.
 * @param refused refusals of the server's models so far; default: none
 */
export function createChatModel(server: ChatServer, refused = new RefusedFields()): Model {
  const wires = wiresOf(server);
  const mayChangeApi = (server.api ?? "auto") === "auto";
  return {
    async answer(request, options) {
      const name = nameAtServer(request.model, server);
      const base = initialDialect(name, server);
      const tried: Refused[] = [];
      for (;;) {
        // The operator's API overrides a learned one.
        const known = [...refused.of(name), ...tried].filter(({ field }) => mayChangeApi || field !== "api");
        const dialect = dialectFor(base, known);
        // Thoughts are readable only to their own API.
        const thoughts = request.thoughts?.filter(
          (one) => one.model === request.model && one.api === dialect.api,
        );
        const sent = { ...request, model: name, ...(thoughts && { thoughts }) };
        const wire = wires[dialect.api];
        const body = withoutFields(
          wire.body(sent, dialect, server.cacheRule?.(name, dialect.api)),
          dialect.without,
        );
        try {
          const outgoing = { wire, body, api: dialect.api };
          const answer = await inSpan("chat", async () => attempt(outgoing, server, request, options));
          refused.learn(name, tried);
          return answer;
        } catch (error) {
          const failure = classifyFailure(error, request, new Date());
          // A refusal of the size means that the form was accepted.
          if (failure.kind === "context_length") refused.learn(name, tried);
          const refusal = refusalIn(failure);
          if (refusal === undefined) throw failure;
          const limit = outputLimitOf(request, dialect);
          const fields = Object.keys(body);
          const hasResults = request.messages.some(({ role }) => role === "tool");
          const lessons = lessonsOf(refusal, { base, known, fields, limit, hasResults, mayChangeApi });
          if (lessons.length === 0 || tried.length >= MAX_CORRECTIONS) throw inShort(failure, tried);
          // A refusal's words may quote a person's message about such a field, so they count only once the corrected
          // request is answered.
          if (areNamedApart(refusal, lessons)) refused.learn(name, lessons);
          tried.push(...lessons);
        }
      }
    },
  };
}

function wiresOf(server: ChatServer): Readonly<Record<Api, Wire>> {
  const postTo = openAiPosts({
    baseUrl: server.baseUrl,
    apiKey: server.apiKey,
    headers: server.headers ?? {},
    // Later than the watchdog, which ends the request.
    timeoutMs: server.timeouts.totalMs + 60_000,
  });
  return {
    chat: chatWire(postTo("/chat/completions")),
    responses: responsesWire(postTo("/responses")),
    messages: messagesWire(server),
  };
}

/** A start does not wait for the client, and the first answer need not. */
const LOADED_AFTER_MS = 500;

/**
 * Requests to the paths of a server. Its client is a third of the program's modules: it is loaded after the start, or
 * with the first request. JSON is sent as a text: the client's encoder would traverse an object several times.
 */
function openAiPosts(options: ClientOptions): (path: string) => Wire["post"] {
  let client: OpenAI | undefined;
  const loaded = async (): Promise<OpenAI> =>
    (client ??= (await import("../http/openai-client.ts")).openAiClient(options));
  // A failure comes up again with the first request.
  setTimeout(() => void loaded().catch(() => undefined), LOADED_AFTER_MS).unref();
  return (path) => async (body, more) => {
    const ready = await loaded();
    return ready
      .post(path, { body, headers: { "content-type": "application/json" }, stream: true, ...more })
      .asResponse();
  };
}

function withoutFields(body: object, fields: readonly string[]): object {
  return fields.length === 0
    ? body
    : Object.fromEntries(Object.entries(body).filter(([key]) => !fields.includes(key)));
}

/** @returns undefined: the failure is no refusal of the request's form */
function refusalIn(failure: ModelError): Refusal | undefined {
  const { kind, reason, status } = failure;
  if (kind !== "rejected") return undefined;
  let cause: unknown = failure.cause;
  while (cause instanceof ModelError) cause = cause.cause;
  if (!(cause instanceof APIError)) return undefined;
  const { message, metadata } = refusedBody.safeParse(cause.error).data ?? {};
  const words = message ?? cause.message.replace(/^\d{3} /, "");
  const { code, type, param } = cause;
  return {
    reason,
    status: status ?? null,
    code: wordOf(code) === String(status) ? "" : wordOf(code),
    type: wordOf(type),
    param: wordOf(param),
    // The refusal of the server that OpenRouter uses.
    words: sliceWhole(`${words} ${metadata?.raw ?? ""}`, 0, READ_WORDS),
  };
}

const refusedBody = z.object({
  message: z.string(),
  metadata: z.object({ raw: z.string() }).optional().catch(undefined),
});

/** A code as text: some servers send numbers. */
function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function inShort(failure: ModelError, tried: readonly Refused[]): ModelError {
  if (tried.length === 0) return failure;
  const brief = `${failure.brief ?? failure.message}; tried: ${tried.map(describeRefused).join(", ")}`;
  return failure.withMessage(failure.message, brief);
}

interface Outgoing {
  readonly wire: Wire;
  readonly body: object;
  readonly api: Api;
}

/** One HTTP request. `onCall` gets every outcome; every failure is a {@link ModelError}. */
async function attempt(
  outgoing: Outgoing,
  server: ChatServer,
  request: ModelRequest,
  options: ModelCallOptions,
): Promise<ModelAnswer> {
  options.onAttempt?.(request.model);
  const startedAt = performance.now();
  const call = new Attempt(request, options, startedAt);
  using watchdog = new Watchdog(options.signal, server.timeouts);
  let failure: ModelError | undefined;
  try {
    return await call.run(outgoing, watchdog);
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

/**
 * The cause of an ended request. The client reports it in several ways or not at all, so the caller and the watchdog
 * come first.
 */
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

  async run({ wire, body, api }: Outgoing, watchdog: Watchdog): Promise<ModelAnswer> {
    watchdog.signal.throwIfAborted();
    const reader = wire.reader();
    try {
      const { signal } = watchdog;
      const fetchOptions = whenSent(() => (this.#progress = "sent"));
      const response = await wire.post(JSON.stringify(body), { signal, fetchOptions });
      this.#progress = "accepted";
      const budget = new StreamBudget();
      const events = chatEvents(response, budget, () => this.#answer.done());
      await this.#read(events, reader, budget, watchdog);
    } catch (error) {
      if (error instanceof APIError) this.#usageOfError = usageIn(error);
      // A complete answer stays valid if the connection fails after it.
      if (!this.#answer.isFinished || this.#options.signal.aborted) throw error;
    }
    this.#options.signal.throwIfAborted();
    const answer = this.#complete(watchdog);
    const items = reader.thoughts();
    if (api === "chat" || items.length === 0 || answer.calls.length === 0) return answer;
    const callIds = answer.calls.map(({ id }) => id);
    return { ...answer, thoughts: { model: this.#request.model, api, callIds, items } };
  }

  async #read(
    stream: AsyncIterable<unknown>,
    reader: WireReader,
    budget: StreamBudget,
    watchdog: Watchdog,
  ): Promise<void> {
    for await (const event of stream) {
      this.#events++;
      const chunk = reader.chunk(event);
      if (chunk === undefined) continue;
      const { isAlive, isAnswer, text, voided } = this.#answer.add(readChunk(chunk));
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
    const isCut = accumulated.finishReason === "length" && accumulated.receivedTokens <= FEW_TOKENS;
    const window = isCut ? endedByWindow(accumulated.usage, maxOutputTokens) : undefined;
    if (window !== undefined) {
      const why = `the request has filled the model's window of ${window} tokens, and left nothing for an answer`;
      throw new ModelError("context_length", model, why, {
        window,
        isSurelySize: true,
        windowSource: "measured",
      });
    }
    if (accumulated.finishReason === "length" || accumulated.isOverlong) {
      const why = `the model spent its ${maxOutputTokens} output tokens on thinking: raise max_output_tokens`;
      throw new ModelError("empty", model, why, { reason: "output_spent" });
    }
    throw new ModelError("empty", model, "an answer without text and without calls");
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

/** An answer that ends after so few tokens, far from its own limit, was cut by the window. */
const FEW_TOKENS = 16;

/**
 * The window that silently ended an answer (LM Studio, vLLM at some gateways): it is the count of all tokens.
 * @returns tokens; undefined: the answer's own limit may have ended it
 */
function endedByWindow(usage: TokenUsage | undefined, maxOutputTokens: number): number | undefined {
  if (usage === undefined || usage.promptTokens < MIN_WINDOW) return undefined;
  const { promptTokens, completionTokens } = usage;
  const isFarFromLimit = completionTokens <= Math.min(FEW_TOKENS, maxOutputTokens / 4);
  return isFarFromLimit ? promptTokens + completionTokens : undefined;
}

function usageIn({ error }: APIError): TokenUsage | undefined {
  const told: unknown = error;
  return typeof told === "object" && told !== null && "usage" in told
    ? tokenUsage(reportedUsage.parse(told.usage))
    : undefined;
}

const READER: WireReader = { chunk: (event) => event, thoughts: () => [] };

/** OpenAI's Chat Completions, whose format all wires' answers are converted to. */
function chatWire(post: Wire["post"]): Wire {
  return {
    body: (request, dialect, rule) => chatRequestBody(inKnownRoles(request, dialect), dialect, rule),
    post,
    reader: () => READER,
  };
}
