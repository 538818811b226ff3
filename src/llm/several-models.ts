import { isDeepStrictEqual } from "node:util";
import { type ModelConfig, serverOf, type ServerConfig } from "../config/config.ts";
import type { LearnedModel } from "./catalog/learned-models.ts";
import { type Model, ModelError } from "./model.ts";
import type { Models, ModelsConfig, ModelSource } from "./models.ts";

/** A server's address, and the beginning of its models' names. */
export interface ServerAddress extends Omit<ServerConfig, "name"> {
  /** "" for the default server, or `NAME/`. */
  readonly prefix: string;
}

/** Opens the source of a server's models; sends nothing. */
type OpenSource = (server: ServerAddress, models: readonly ModelConfig[]) => ModelSource;

interface Named {
  readonly name: string;
  readonly server: ServerAddress;
  readonly source: ModelSource;
}

interface Sources {
  /** For names without a server. */
  readonly byDefault: Named;
  readonly named: readonly Named[];
}

/** The models of the default server and of `[llm.servers]`, dispatched by a model's name. */
export class SeveralModels implements Models {
  readonly model: Model;
  readonly #open: OpenSource;
  /** The source of `[llm]` at the start: it precedes `[llm.servers]` unless it is the offline model. */
  readonly #ofStart: Named;
  #sources: Sources;
  #config: ModelsConfig;
  /** Sources that a reload has replaced: calls in flight continue, and lessons are still being written. */
  readonly #retired = new Set<ModelSource>();
  /** Names of servers that a reload has removed. */
  readonly #removed = new Set<string>();
  #hasRecalled = false;

  /** @param ofStart the models of the server of `[llm]`, or its substitute */
  constructor(config: ModelsConfig, open: OpenSource, ofStart: ModelSource) {
    this.#open = open;
    const nowhere = { prefix: "", baseUrl: "", apiKey: null, api: "auto" as const, headers: {} };
    this.#ofStart = { name: "", server: nowhere, source: ofStart };
    this.#config = config;
    this.#sources = this.#sourcesFor(config);
    this.model = {
      answer: async (request, options) => {
        this.#refuseRemoved(request.model);
        return this.#of(request.model).model.answer(request, options);
      },
    };
  }

  // By the server of the model.
  readonly resolve: Models["resolve"] = async (model, signal) => this.#of(model).resolve(model, signal);
  readonly nameOf: Models["nameOf"] = (model) => this.#of(model).nameOf(model);
  readonly windowOf: Models["windowOf"] = (model, configured) => this.#of(model).windowOf(model, configured);
  readonly knownWindow: Models["knownWindow"] = (model, configured) =>
    this.#of(model).knownWindow(model, configured);
  readonly learnWindow: Models["learnWindow"] = (model, ...window) =>
    this.#of(model).learnWindow(model, ...window);
  readonly evidenceOf: Models["evidenceOf"] = (model) => this.#of(model).evidenceOf(model);
  readonly factorOf: Models["factorOf"] = (model) => this.#of(model).factorOf(model);
  readonly learnFactor: Models["learnFactor"] = (model, report) => this.#of(model).learnFactor(model, report);
  readonly seesImages: Models["seesImages"] = (model) => this.#of(model).seesImages(model);
  readonly priceOf: Models["priceOf"] = (model) => this.#of(model).priceOf(model);
  readonly cacheRule: Models["cacheRule"] = (model) => this.#of(model).cacheRule(model);

  get isOffline(): boolean {
    return this.#sources.byDefault.source.isOffline;
  }

  describe(): string {
    const { byDefault, named } = this.#sources;
    const others = named.map(({ name, source }) => `; ${name}: ${source.describe()}`);
    return `${byDefault.source.describe()}${others.join("")}`;
  }

  configure(config: ModelsConfig): void {
    const before = this.#all();
    const { named } = this.#sources;
    this.#config = config;
    this.#sources = this.#sourcesFor(config);
    const now = this.#all();
    for (const source of now) source.configure(config.models);
    for (const source of before) if (!now.includes(source)) this.#retired.add(source);
    for (const { name } of named) this.#removed.add(name);
    for (const { name } of this.#sources.named) this.#removed.delete(name);
    if (!this.#hasRecalled) return;
    // A lesson that cannot be read now is learned again.
    for (const source of now)
      if (!before.includes(source)) void source.recallLearned().catch(() => undefined);
  }

  trying<Result>(config: ModelsConfig, work: () => Result): Result {
    const before = this.#sources;
    const said = this.#config.models;
    this.#sources = this.#sourcesFor(config);
    for (const source of this.#all()) source.configure(config.models);
    try {
      return work();
    } finally {
      this.#sources = before;
      for (const source of this.#all()) source.configure(said);
    }
  }

  async recallLearned(): Promise<readonly LearnedModel[]> {
    this.#hasRecalled = true;
    const learned = await Promise.all(this.#all().map(async (source) => source.recallLearned()));
    return learned.flat();
  }

  async askPrices(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map(async (source) => source.askPrices(signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = new Set([...this.#all(), ...this.#retired, this.#ofStart.source]);
    await Promise.all(Array.from(all, async (source) => source[Symbol.asyncDispose]()));
  }

  /**
   * Keeps a running turn whose server was removed from continuing at another provider.
   * @throws ModelError
   */
  #refuseRemoved(model: string): void {
    const name = model.split("/", 1)[0] ?? "";
    if (!model.includes("/") || !this.#removed.has(name)) return;
    const why = `the configuration has no server "${name}" any more; after a restart this is part of a model's name`;
    throw new ModelError("rejected", model, why);
  }

  #of(model: string): ModelSource {
    const { byDefault, named } = this.#sources;
    return (serverOf(model, named) ?? byDefault).source;
  }

  #all(): ModelSource[] {
    const { byDefault, named } = this.#sources;
    return [byDefault, ...named].map(({ source }) => source);
  }

  /** Unchanged servers keep their sources. */
  #sourcesFor({ servers, models }: ModelsConfig): Sources {
    const before: readonly Named[] = [this.#ofStart, ...this.#known()];
    const sourceOf = (name: string, server: ServerAddress): Named =>
      before.find((one) => one.name === name && isDeepStrictEqual(one.server, server)) ?? {
        name,
        server,
        source: this.#open(server, models),
      };
    const addresses = servers.map(({ name, ...server }) => ({ name, server }));
    const named = addresses.map(({ name, server }) => sourceOf(name, { ...server, prefix: `${name}/` }));
    const [first] = addresses;
    const byDefault =
      first === undefined || !this.#ofStart.source.isOffline
        ? this.#ofStart
        : sourceOf("", { ...first.server, prefix: "" });
    return { byDefault, named };
  }

  #known(): readonly Named[] {
    // Undefined only in the constructor.
    const sources: Sources | undefined = this.#sources;
    return sources === undefined ? [] : [sources.byDefault, ...sources.named];
  }
}
