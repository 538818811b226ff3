import { abortedAfter } from "../async/deadline.ts";
import { createHash } from "node:crypto";
import type { LlmConfig, ModelConfig } from "../config/config.ts";
import { originOf } from "../text/displayable.ts";
import type { Anchor } from "../core/calibration.ts";
import type { ModelMessage } from "../core/context.ts";
import type { ModelPrice } from "../core/cost.ts";
import { OperatorError } from "../core/errors.ts";
import { createChatModel } from "./chat/chat-model.ts";
import type { ChatServer } from "./chat/chat-request.ts";
import {
  type BelievedWindow,
  type KnownWindow,
  KnownWindows,
  type Lessons,
  NO_LESSONS,
} from "./catalog/known-windows.ts";
import type { LearnedSource, WindowEvidence } from "./catalog/window-evidence.ts";
import { LearnedKeeper, type LearnedModel, type LearnedModels } from "./catalog/learned-models.ts";
import { knownPrice, knownWindow } from "./catalog/model-catalog.ts";
import { firstChatModel, listModels } from "./catalog/model-listing.ts";
import type { ListedModel } from "./catalog/model-listing.ts";
import { ModelError } from "./model.ts";
import type { Model, ModelAnswer } from "./model.ts";
import { createOfflineModel, OFFLINE_MODEL } from "./offline/offline-model.ts";
import {
  isOllamaAt,
  OLLAMA_ORIGIN,
  OllamaWindows,
  probeOllama,
  type RunningWindow,
} from "./catalog/ollama.ts";

export const OPENAI_URL = "https://api.openai.com/v1";
/** The configured name that leaves the choice to the server. */
const AUTO_MODEL = "auto";
/**
 * `auto` on OpenAI's own server: the small model that OpenAI names as the successor of the models that end in
 * December 2026 and January 2027 (deprecations page, read in November 2026).
 */
export const OPENAI_AUTO_MODEL = "gpt-6-luna";

/** Longest attempt in milliseconds, even if its stream is active. */
const ATTEMPT_MS = 300_000;
const PROBE_MS = 500;
const LISTING_MS = 5000;
const ASKING_PAUSE_MS = 60_000;

/** The models that agents may use, and their windows. */
export interface Models extends AsyncDisposable {
  /** Makes one attempt per answer. Takes the name `auto`, too. */
  readonly model: Model;
  /** The built-in model answers: no server and no key were found. */
  readonly isOffline: boolean;
  /** One line for the log and the status; no secrets. */
  describe(): string;
  /** From now on this is what `[models]` says, from the next request on. */
  configure(models: readonly ModelConfig[]): void;
  /** Does work, which must not wait for anything, as if `[models]` said this. */
  trying<Result>(models: readonly ModelConfig[], work: () => Result): Result;
  /**
   * The server's name for a configured model. Also learns the windows that the server reports.
   * @param signal ends the requests
   * @throws ModelError if the server has to be asked and does not answer; its message says what to do
   */
  resolve(configured: string, signal?: AbortSignal): Promise<string>;
  /** The server's name for a configured model as far as it is known now; undefined: the server has to be asked. */
  nameOf(configured: string): string | undefined;
  /**
   * Takes over what an earlier run has learned. To be called once the agents are made: that a window was learned to be
   * small is no reason not to start.
   * @returns it, without windows that hold no longer
   */
  recallLearned(): Promise<readonly LearnedModel[]>;
  /**
   * Tokens of a model's window: the lower of what is configured and the limit from a refusal or Ollama; else the
   * server's listing, else the catalogue, else 32,768.
   * @param configured the agent's setting (0: not set); what `[models]` says goes over it
   */
  windowOf(model: string, configured: number): number;
  /** The same window, with how it is known and until when. */
  knownWindow(model: string, configured: number): KnownWindow;
  /**
   * Learns a window from a model's refusals or from its server's counts. The window only shrinks, to 1,024 at least, and never below a
   * prompt that the model has answered; it is forgotten after a day, one that the server has told (the default) after 30 days, or when
   * `[models]` says a larger one than it did then.
   */
  learnWindow(model: string, tokens: number, source?: LearnedSource): void;
  /** What a model's answers and refusals tell of its window. */
  evidenceOf(model: string): WindowEvidence;
  /** Real tokens per estimated token of a model: 1 until its provider has reported otherwise. */
  factorOf(model: string): number;
  /** Learns from the reported tokens of an answered request: the factor rises at once and falls slowly. */
  learnFactor(model: string, report: Anchor): void;
  /** Whether pictures are sent to a model: to all of which `[models]` does not say otherwise. */
  seesImages(model: string): boolean;
  /** A model's price: configured, else listed by the server, else from the table; undefined: nobody knows it. */
  priceOf(model: string): ModelPrice | undefined;
  /** Has the server list its models, and so their prices, if it has not yet. Never throws before `signal` ends. */
  askPrices(signal: AbortSignal): Promise<void>;
}

export interface OpenModelsOptions extends Pick<Lessons, "onWindowLearned" | "onSilentCut"> {
  /** For tests. */
  readonly ollamaOrigin?: string;
  /** What an earlier run has learned, and where this one keeps what it learns; default: nowhere. */
  readonly learned?: LearnedModels;
  /** Told what could not be kept. */
  readonly onNotKept?: (error: unknown) => void;
  /** Called once for each model that an Ollama runs with a smaller window than the model has. @param most tokens of that */
  readonly onSmallOllama?: (model: string, window: number, most: number) => void;
}

/**
 * Chooses the source of models: the configured server; else OpenAI's, if there is a key; else an Ollama on
 * this machine; else the built-in offline model. Sends nothing to a configured server: the daemon starts even
 * if that server is down. Disposing ends every call in flight.
 * @throws OperatorError if `base_url` is not a URL
 */
export async function openModels(config: LlmConfig, options: OpenModelsOptions = {}): Promise<Models> {
  const timeouts = {
    firstTokenMs: config.firstTokenTimeoutMs,
    idleMs: config.idleTimeoutMs,
    totalMs: ATTEMPT_MS,
  };
  if (config.baseUrl !== null || config.apiKey !== null) {
    const url = serverUrl(config.baseUrl ?? OPENAI_URL);
    const server = {
      baseUrl: url.href.replace(/\/$/, ""),
      apiKey: config.apiKey ?? undefined,
      isOpenAi: /(?:^|\.)api\.openai\.com$/.test(url.hostname),
      // OpenAI's and Mistral's guides to prompt caching, read in November 2026.
      takesCacheKey: /(?:^|\.)api\.(?:openai\.com|mistral\.ai)$/.test(url.hostname),
      takesCacheMarkers: cacheMarkersAt(url.hostname, config.models),
      timeouts,
    };
    const lessons = openLessons(server.baseUrl, options);
    return new ServerModels(config.models, server, isOllamaAt(url), lessons, options.onSmallOllama);
  }
  const origin = options.ollamaOrigin ?? OLLAMA_ORIGIN;
  const found = await probeOllama(origin, PROBE_MS);
  if (found === undefined || found.length === 0) return new OfflineModels(config.models, found !== undefined);
  const server = {
    baseUrl: `${origin}/v1`,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    takesCacheMarkers: cacheMarkersAt("", config.models),
    timeouts,
  };
  const lessons = openLessons(server.baseUrl, options);
  return new ServerModels(config.models, server, true, lessons, options.onSmallOllama);
}

/**
 * Which models are told with `cache_control` how far a request may be cached. OpenRouter passes it on to Anthropic's
 * models, which cache nothing without it (its guide to prompt caching, read in November 2026); what stands behind other
 * gateways only their operator knows.
 */
function cacheMarkersAt(hostname: string, models: readonly ModelConfig[]): (model: string) => boolean {
  const isOpenRouter = /(?:^|\.)openrouter\.ai$/.test(hostname);
  return (model) => {
    const said = models.find(({ name }) => name === model)?.cacheMarkers ?? "auto";
    return said === "auto" ? isOpenRouter && /^~?anthropic\//.test(model) : said;
  };
}

/** What was learned of a server's models, with the writes that keep what will be. */
function openLessons(
  baseUrl: string,
  { learned, onNotKept, onSilentCut, onWindowLearned }: OpenModelsOptions,
): KeptLessons {
  const keeper = new LearnedKeeper(onNotKept ?? (() => undefined));
  const end = async (): Promise<void> => keeper.end();
  const told = { ...(onSilentCut && { onSilentCut }), ...(onWindowLearned && { onWindowLearned }) };
  if (learned === undefined) return { ...NO_LESSONS, ...told, end };
  // An address may hold a key in its path.
  const server = createHash("sha256").update(baseUrl).digest("hex").slice(0, 32);
  return {
    load: async () => learned.load(server),
    keepWindow: (model, window) =>
      keeper.keep(`window of ${model}`, async () => learned.keepWindow(server, model, window)),
    keepFactor: (model, factor) =>
      keeper.keep(`factor of ${model}`, async () => learned.keepFactor(server, model, factor)),
    now: () => new Date(),
    ...told,
    end,
  };
}

interface KeptLessons extends Lessons {
  /** Waits for what is still being written, for a moment. */
  end(): Promise<void>;
}

function serverUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new OperatorError("llm.base_url (OPENAI_BASE_URL) is not an http(s) URL.");
  }
  return url;
}

class OfflineModels extends KnownWindows implements Models {
  readonly model = createOfflineModel();
  readonly isOffline = true;
  readonly #isOllamaEmpty: boolean;

  constructor(configured: readonly ModelConfig[], isOllamaEmpty: boolean) {
    super(configured, NO_LESSONS);
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
    return model === OFFLINE_MODEL ? { input: 0, cached: 0, output: 0 } : undefined;
  }
}

class ServerModels extends KnownWindows implements Models {
  readonly model: Model;
  readonly isOffline = false;
  readonly #server: ChatServer;
  readonly #ollama: OllamaWindows;
  readonly #url: URL;
  readonly #closing = new AbortController();
  #listed: readonly ListedModel[] | undefined;
  /** When to repeat a question that the server did not answer, by `performance.now()`. */
  readonly #pausedUntil = new Map<string, number>();
  readonly #endLessons: () => Promise<void>;
  #auto: string | undefined;

  constructor(
    configured: readonly ModelConfig[],
    server: ChatServer,
    isOllama: boolean,
    lessons: KeptLessons,
    onSmallOllama: OpenModelsOptions["onSmallOllama"],
  ) {
    super(configured, lessons);
    this.#endLessons = async () => lessons.end();
    this.#server = server;
    this.#url = new URL(server.baseUrl);
    this.#ollama = new OllamaWindows(this.#url, isOllama, server.timeouts.firstTokenMs, onSmallOllama);
    const chat = createChatModel(server);
    this.model = {
      answer: async (request, options) => {
        const signal = AbortSignal.any([options.signal, this.#closing.signal]);
        const model = await this.resolve(request.model, signal);
        const ask = async (name: string): Promise<ModelAnswer> => {
          const maxOutputTokens = this.outputOf(name, request.maxOutputTokens);
          const messages = this.seesImages(name) ? request.messages : withoutImages(request.messages);
          return chat.answer({ ...request, model: name, messages, maxOutputTokens }, { ...options, signal });
        };
        try {
          return await ask(model);
        } catch (error) {
          const other = await this.#insteadOf(model, error, signal);
          if (other === undefined) throw error;
          return ask(other);
        }
      },
    };
  }

  /** A restarted server may serve another model and not know the model that it listed first. */
  async #insteadOf(model: string, error: unknown, signal: AbortSignal): Promise<string | undefined> {
    if (!(error instanceof ModelError && error.status === 404) || model !== this.#auto) return undefined;
    this.#auto = undefined;
    const other = await this.resolve(AUTO_MODEL, signal).catch(() => model);
    return other === model ? undefined : other;
  }

  describe(): string {
    const auto = this.#server.isOpenAi
      ? OPENAI_AUTO_MODEL
      : (this.#auto ?? "the first that the server lists");
    const key = this.#server.apiKey === undefined ? "no key" : "with a key";
    return `${originOf(this.#server.baseUrl)} (${key}; model "auto" is ${auto})`;
  }

  nameOf(configured: string): string | undefined {
    if (configured !== AUTO_MODEL) return configured;
    return this.#server.isOpenAi ? OPENAI_AUTO_MODEL : this.#auto;
  }

  async resolve(configured: string, signal?: AbortSignal): Promise<string> {
    const known = this.nameOf(configured);
    // The usual case: nothing to ask, and no call to end.
    if (known !== undefined && (this.#server.isOpenAi || !this.#mayLearn(known, configured))) return known;
    const asking = AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      const look = this.#ollama.look(asking);
      const name = configured === AUTO_MODEL ? await this.#firstListed(asking) : configured;
      if (configured !== AUTO_MODEL) await this.#learnListed(asking);
      await look;
      await this.#ollama.learn(name, asking);
      asking.throwIfAborted();
      return name;
    } catch (error) {
      if (asking.aborted)
        throw new ModelError("aborted", configured, "the caller ended the call", { cause: error });
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#endLessons();
  }

  async askPrices(signal: AbortSignal): Promise<void> {
    await this.#learnListed(signal);
  }

  protected override believedPrice(model: string): ModelPrice | undefined {
    const listed = this.#listed?.find(({ id }) => id === model)?.price;
    return listed ?? knownPrice(this.#url.hostname, model);
  }

  protected override believedWindow(model: string): BelievedWindow | undefined {
    const listed = this.#listed?.find(({ id }) => id === model)?.window;
    if (listed !== undefined) return { tokens: listed, source: "listed" };
    // Ollama runs models with smaller windows, and is asked for the window before the first turn.
    const known = this.#ollama.isThere ? undefined : knownWindow(model);
    return known === undefined ? undefined : { tokens: known, source: "table" };
  }

  protected override runningWindow(model: string): RunningWindow | undefined {
    return this.#ollama.of(model);
  }

  async #firstListed(signal: AbortSignal): Promise<string> {
    this.#auto ??= firstChatModel(await this.#list(signal));
    if (this.#auto !== undefined) return this.#auto;
    throw new ModelError(
      "rejected",
      AUTO_MODEL,
      `${originOf(this.#server.baseUrl)} lists no model. Name one in the configuration.`,
    );
  }

  /** Only for the windows: a server that does not list its models can still be used. */
  async #learnListed(signal: AbortSignal): Promise<void> {
    if (!this.#mayList) return;
    try {
      await this.#list(signal);
    } catch (error) {
      if (signal.aborted) throw error;
      this.#pause("listing");
    }
  }

  async #list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    this.#listed = await listModels(this.#server, AbortSignal.any([signal, abortedAfter(LISTING_MS)]));
    return this.#listed;
  }

  #mayLearn(model: string, configured: string): boolean {
    return (configured !== AUTO_MODEL && this.#mayList) || this.#ollama.mayAsk(model);
  }

  get #mayList(): boolean {
    return this.#listed === undefined && !this.#isPaused("listing");
  }

  #pause(question: string): void {
    this.#pausedUntil.set(question, performance.now() + ASKING_PAUSE_MS);
  }

  #isPaused(question: string): boolean {
    return (this.#pausedUntil.get(question) ?? 0) > performance.now();
  }
}

/** Texts and results tell each picture's name, type and size, so nothing else has to. */
function withoutImages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.flatMap((message) => {
    if (message.role !== "user" || message.images === undefined) return message;
    return message.isOfImages === true ? [] : { role: message.role, text: message.text };
  });
}
