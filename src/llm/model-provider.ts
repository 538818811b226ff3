import { abortedAfter } from "../async/deadline.ts";
import type { LlmConfig, ModelConfig } from "../config/config.ts";
import { originOf } from "../text/displayable.ts";
import type { ModelMessage } from "../core/context.ts";
import type { ModelPrice } from "../core/cost.ts";
import { OperatorError } from "../core/errors.ts";
import { createChatModel } from "./chat/chat-model.ts";
import { type CacheRule, cacheRuleOf } from "./caches/rules.ts";
import { type ChatServer, initialDialect, nameAtServer } from "./chat/chat-request.ts";
import { type BelievedWindow, KnownWindows, NO_LESSONS } from "./catalog/known-windows.ts";
import { type KeptLessons, lessonKey, type LessonKeepers, openLessons } from "./catalog/kept-lessons.ts";
import type { LearnedModel } from "./catalog/learned-models.ts";
import { knownPrice, knownWindow } from "./catalog/model-catalog.ts";
import { firstChatModel, listModels, type ListedModel } from "./catalog/model-listing.ts";
import { ModelError, type Model, type ModelAnswer } from "./model.ts";
import type { Models, ModelSource } from "./models.ts";
import { createOfflineModel, OFFLINE_MODEL } from "./offline/offline-model.ts";
import { type ServerAddress, SeveralModels } from "./several-models.ts";
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

export interface OpenModelsOptions extends LessonKeepers {
  /** For tests. */
  readonly ollamaOrigin?: string;
  /** Answers every request in place of the configured servers, and of an Ollama. Default: they answer. */
  readonly standIn?: Model;
  /**
   * Called once for each model that an Ollama runs with a smaller window than the model's own. @param most tokens of
   * the model's own
   */
  readonly onSmallOllama?: (model: string, window: number, most: number) => void;
}

/**
 * Chooses the sources of models: those of `[llm.servers]`, and, for names without a server, the configured server; else
 * OpenAI's, if there is a key; else the first of `[llm.servers]`; else an Ollama on this machine; else the built-in
 * offline model. It sends nothing to a configured server: the daemon starts even if that server is down. Disposing ends
 * every call in flight.
 * @throws OperatorError if `base_url` is not a URL
 */
export async function openModels(config: LlmConfig, options: OpenModelsOptions = {}): Promise<Models> {
  const timeouts = {
    firstTokenMs: config.firstTokenTimeoutMs,
    idleMs: config.idleTimeoutMs,
    totalMs: ATTEMPT_MS,
  };
  const open = (server: ServerAddress, said: readonly ModelConfig[], isOllama = false): ModelSource => {
    const url = serverUrl(server.baseUrl);
    const chatServer = {
      prefix: server.prefix,
      table: server.prefix === "" ? "llm" : `llm.servers.${server.prefix.slice(0, -1)}`,
      baseUrl: plainAddress(url),
      apiKey: server.apiKey ?? undefined,
      headers: server.headers,
      api: server.api,
      isOpenAi: /(?:^|\.)api\.openai\.com$/.test(url.hostname),
      isAnthropic: /(?:^|\.)api\.anthropic\.com$/.test(url.hostname),
      // OpenAI's and Mistral's guides to prompt caching, read in November 2026.
      takesCacheKey: /(?:^|\.)api\.(?:openai\.com|mistral\.ai)$/.test(url.hostname),
      cacheRule: cacheRulesAt(url.hostname, server.prefix, said),
      timeouts,
    };
    const lessons = openLessons(chatServer, options);
    return new ServerModels(said, chatServer, isOllama || isOllamaAt(url), lessons, options.onSmallOllama);
  };
  const { baseUrl, apiKey, models } = config;
  if (options.standIn !== undefined)
    return new SeveralModels(
      { ...config, servers: [] },
      open,
      new OfflineModels(models, false, options.standIn),
    );
  if (baseUrl !== null || apiKey !== null) {
    const server = { prefix: "", baseUrl: baseUrl ?? OPENAI_URL, apiKey, api: config.api, headers: {} };
    return new SeveralModels(config, open, open(server, models));
  }
  if (config.servers.length > 0) return new SeveralModels(config, open, new OfflineModels(models, false));
  const origin = options.ollamaOrigin ?? OLLAMA_ORIGIN;
  const found = await probeOllama(origin, PROBE_MS);
  if (found === undefined || found.length === 0)
    return new SeveralModels(config, open, new OfflineModels(models, found !== undefined));
  const server = { prefix: "", baseUrl: `${origin}/v1`, apiKey: null, api: "auto" as const, headers: {} };
  return new SeveralModels(config, open, open(server, models, true));
}

/** How a server caches each model's requests, by the configuration and the server's known rules. */
function cacheRulesAt(
  hostname: string,
  prefix: string,
  models: readonly ModelConfig[],
): NonNullable<ChatServer["cacheRule"]> {
  return (model, api) => {
    const said = models.find(({ name }) => name === `${prefix}${model}`)?.cacheMarkers ?? "auto";
    return cacheRuleOf({ hostname, model, said, api });
  };
}

function plainAddress(url: URL): string {
  return url.href.replace(/\/$/, "");
}

/** The servers of a configuration, by the beginnings of their models' names, with the keys of their stored lessons. Pure. */
export function lessonPlaces(llm: LlmConfig): { readonly prefix: string; readonly key: string }[] {
  const { baseUrl, apiKey, servers } = llm;
  const [first] = servers;
  const own = baseUrl ?? (apiKey === null ? (first?.baseUrl ?? `${OLLAMA_ORIGIN}/v1`) : OPENAI_URL);
  const all = [{ prefix: "", baseUrl: own }, ...servers.map((one) => ({ ...one, prefix: `${one.name}/` }))];
  return all.map((one) => ({ prefix: one.prefix, key: lessonKey(plainAddress(serverUrl(one.baseUrl))) }));
}

function serverUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new OperatorError("llm.base_url (OPENAI_BASE_URL) is not an http(s) URL.");
  }
  return url;
}

class ServerModels extends KnownWindows implements ModelSource {
  readonly model: Model;
  readonly isOffline = false;
  readonly #server: ChatServer;
  readonly #ollama: OllamaWindows;
  readonly #url: URL;
  readonly #closing = new AbortController();
  #listed: readonly ListedModel[] | undefined;
  /** When an unanswered request for the listing may be repeated, by `performance.now()`. */
  #listAgainAt = 0;
  readonly #kept: KeptLessons;
  /** With the prefix. */
  #auto: string | undefined;

  constructor(
    configured: readonly ModelConfig[],
    server: ChatServer,
    isOllama: boolean,
    lessons: KeptLessons,
    onSmallOllama: OpenModelsOptions["onSmallOllama"],
  ) {
    super(configured, lessons);
    this.#kept = lessons;
    this.#server = server;
    this.#url = new URL(server.baseUrl);
    this.#ollama = new OllamaWindows(this.#url, isOllama, server.timeouts.firstTokenMs, (model, ...window) =>
      onSmallOllama?.(`${server.prefix ?? ""}${model}`, ...window),
    );
    const chat = createChatModel(server, lessons.refused);
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

  /** A restarted server may serve another model, and not know the one that it listed first. */
  async #insteadOf(model: string, error: unknown, signal: AbortSignal): Promise<string | undefined> {
    if (!(error instanceof ModelError && error.status === 404) || model !== this.#auto) return undefined;
    this.#auto = undefined;
    const other = await this.resolve(this.#named(AUTO_MODEL), signal).catch(() => model);
    return other === model ? undefined : other;
  }

  override async recallLearned(): Promise<readonly LearnedModel[]> {
    await this.#kept.recallRefused();
    return super.recallLearned();
  }

  describe(): string {
    const auto = this.nameOf(this.#named(AUTO_MODEL)) ?? "the first that the server lists";
    const key = this.#server.apiKey === undefined ? "no key" : "with a key";
    return `${originOf(this.#server.baseUrl)} (${key}; model "${this.#named(AUTO_MODEL)}" is ${auto})`;
  }

  nameOf(configured: string): string | undefined {
    if (!this.#isAuto(configured)) return configured;
    return this.#server.isOpenAi ? this.#named(OPENAI_AUTO_MODEL) : this.#auto;
  }

  #isAuto(configured: string): boolean {
    return nameAtServer(configured, this.#server) === AUTO_MODEL;
  }

  #named(atServer: string): string {
    return `${this.#server.prefix ?? ""}${atServer}`;
  }

  async resolve(configured: string, signal?: AbortSignal): Promise<string> {
    const known = this.nameOf(configured);
    // The usual case: there is no question, and no call to end.
    if (known !== undefined && (this.#server.isOpenAi || !this.#mayLearn(known, configured))) return known;
    const asking = AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      const look = this.#ollama.look(asking);
      const name = this.#isAuto(configured) ? await this.#firstListed(asking) : configured;
      if (!this.#isAuto(configured)) await this.#learnListed(asking);
      await look;
      await this.#ollama.learn(nameAtServer(name, this.#server), asking);
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
    await this.#kept.end();
  }

  cacheRule(model: string): CacheRule | undefined {
    const name = nameAtServer(model, this.#server);
    return this.#server.cacheRule?.(name, initialDialect(name, this.#server).api);
  }

  async askPrices(signal: AbortSignal): Promise<void> {
    await this.#learnListed(signal);
  }

  protected override believedPrice(model: string): ModelPrice | undefined {
    const listed = this.#listedOf(model)?.price;
    return listed ?? knownPrice(this.#url.hostname, model);
  }

  protected override believedWindow(model: string): BelievedWindow | undefined {
    const listed = this.#listedOf(model)?.window;
    if (listed !== undefined) return { tokens: listed, source: "listed" };
    // Ollama runs models with smaller windows, so it is asked for the window before the first turn.
    const known = this.#ollama.isThere ? undefined : knownWindow(model);
    return known === undefined ? undefined : { tokens: known, source: "table" };
  }

  protected override runningWindow(model: string): RunningWindow | undefined {
    return this.#ollama.of(nameAtServer(model, this.#server));
  }

  #listedOf(model: string): ListedModel | undefined {
    const name = nameAtServer(model, this.#server);
    return this.#listed?.find(({ id }) => id === name);
  }

  async #firstListed(signal: AbortSignal): Promise<string> {
    const first = this.#auto === undefined ? firstChatModel(await this.#list(signal)) : undefined;
    if (first !== undefined) this.#auto = this.#named(first);
    if (this.#auto !== undefined) return this.#auto;
    throw new ModelError(
      "rejected",
      AUTO_MODEL,
      `${originOf(this.#server.baseUrl)} lists no model. Name one in the configuration.`,
    );
  }

  /** Only for the windows: a server without a listing can still be used. */
  async #learnListed(signal: AbortSignal): Promise<void> {
    if (!this.#mayList) return;
    try {
      await this.#list(signal);
    } catch (error) {
      if (signal.aborted) throw error;
      this.#listAgainAt = performance.now() + ASKING_PAUSE_MS;
    }
  }

  async #list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    this.#listed = await listModels(this.#server, AbortSignal.any([signal, abortedAfter(LISTING_MS)]));
    return this.#listed;
  }

  #mayLearn(model: string, configured: string): boolean {
    const mayAsk = this.#ollama.mayAsk(nameAtServer(model, this.#server));
    return (!this.#isAuto(configured) && this.#mayList) || mayAsk;
  }

  get #mayList(): boolean {
    return this.#listed === undefined && this.#listAgainAt <= performance.now();
  }
}

/** The built-in offline model in place of a server. */
export class OfflineModels extends KnownWindows implements ModelSource {
  readonly model: Model;
  readonly isOffline = true;
  readonly resolve = async (): Promise<string> => OFFLINE_MODEL;
  readonly nameOf = (): string => OFFLINE_MODEL;
  readonly cacheRule = (): undefined => undefined;
  readonly askPrices = async (): Promise<void> => undefined;
  readonly #isOllamaEmpty: boolean;

  constructor(configured: readonly ModelConfig[], isOllamaEmpty: boolean, model = createOfflineModel()) {
    super(configured, NO_LESSONS);
    this.model = model;
    this.#isOllamaEmpty = isOllamaEmpty;
  }

  describe(): string {
    const hint = this.#isOllamaEmpty ? " An Ollama answers but has no model: `ollama pull` one." : "";
    return `offline: not a language model, it only quotes. Set OPENAI_API_KEY or llm.base_url for one.${hint}`;
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
    return model === OFFLINE_MODEL ? { input: 0, cached: 0, write: 0, output: 0 } : undefined;
  }
}

/** Texts and results name each picture's type and size already. */
function withoutImages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.flatMap((message) => {
    if (message.role !== "user" || message.images === undefined) return message;
    return message.isOfImages === true ? [] : { role: message.role, text: message.text };
  });
}
