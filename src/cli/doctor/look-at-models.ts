import { performance } from "node:perf_hooks";
import type { Agents, StaffedAgent } from "../../agents.ts";
import { type Config, serverOf } from "../../config/config.ts";
import { errorMessage, type Finding } from "../../core/errors.ts";
import { describeKnown } from "../../admin/reports/channel-format.ts";
import type { LearnedModels } from "../../llm/catalog/learned-models.ts";
import { openModels } from "../../llm/model-provider.ts";
import type { Models } from "../../llm/models.ts";
import type { CacheRule } from "../../llm/caches/rules.ts";
import type { KnownWindow } from "../../llm/catalog/known-windows.ts";
import { describeRefused } from "../../llm/dialect.ts";
import type { ModelAnswer, ModelRequest } from "../../llm/model.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import { createAgentsToLook, type Teller } from "../shared/agents-to-look.ts";
import { ASKS, summaryRequest, triedTool, turnRequest } from "./model-rehearsal.ts";
import { measureWindow, MOST_WINDOW_CALLS } from "./needle-search.ts";

/** How long one call may take, ms: a server of one's own may have to load the model first. */
const CALL_MS = 120_000;

/** How its provider caches the beginning of requests. */
const CACHES: Readonly<Record<CacheRule["marks"], string>> = {
  none: "cached by any common beginning, if at all",
  breakpoints: "cached up to breakpoints",
  cache_control: "cached up to marks of cache_control",
};

/** How much is asked of each model. `turn`: one answer, as for a first try. `window`: all, and how much of a request it reads. */
export type Depth = "turn" | "work" | "window";

export interface Part {
  /** As it is configured. */
  readonly name: string;
  /** By whose prompts and tools it is tried. */
  readonly staff: StaffedAgent;
  readonly answers: boolean;
  readonly summarises: boolean;
}

/** Each model that the agents name, once. */
function partsOf(agents: Agents): Part[] {
  const parts = new Map<string, Part>();
  for (const staff of agents.all()) {
    const { config } = staff.agent;
    const answering = [config.model, ...config.fallbacks];
    const summarising = staff.compactorAgent.modelNames();
    for (const name of new Set([...answering, ...summarising])) {
      const known = parts.get(name);
      parts.set(name, {
        name,
        staff: known?.staff ?? staff,
        answers: known?.answers === true || answering.includes(name),
        summarises: known?.summarises === true || summarising.includes(name),
      });
    }
  }
  return [...parts.values()];
}

/** Most calls of models by one check: an answer, a call of a tool, one with its result, a summary. */
function callsOf(parts: readonly Part[], depth: Depth): number {
  if (depth === "turn") return parts.length;
  const searching = depth === "window" ? MOST_WINDOW_CALLS : 0;
  return parts.reduce(
    (sum, { answers, summarises }) => sum + Number(answers) * 3 + Number(summarises) + searching,
    0,
  );
}

/**
 * Has each model do its agents' work once.
 * @param announce called before the first call, with the planned requests
 * @param learned a daemon's knowledge of them; default: empty
 */
export async function lookAtModels(
  io: Teller & { readonly shutdown?: AbortSignal },
  config: Config,
  depth: Depth = "turn",
  announce: (text: string) => void = () => undefined,
  learned?: LearnedModels,
): Promise<readonly Finding[]> {
  const refused = new Map<string, string[]>();
  await using models = await openModels(config.llm, {
    ...(learned !== undefined && { learned }),
    refusals: {
      load: async () => [],
      // A read-only program stores nothing; the daemon learns it again.
      keep: async (_, model, one) => {
        refused.set(model, [...(refused.get(model) ?? []), describeRefused(one)]);
      },
    },
  });
  if (models.isOffline) {
    const todo = "set OPENAI_API_KEY, or llm.base_url, or run an Ollama with a model";
    return [
      { what: "model", state: "unsure", detail: "none: answers come from the built-in stand-in", todo },
    ];
  }
  await using agents = await createAgentsToLook(io, config, models);
  await models.recallLearned().catch(() => undefined);
  const parts = partsOf(agents);
  announce(
    `models: ${counted(parts.length, "model")}, at most ${counted(callsOf(parts, depth), "call")} in all (--no-models asks none)`,
  );
  return await Promise.all(
    parts.map(async (part) => lookAtModel(models, refused, part, depth, config.llm.servers, io.shutdown)),
  );
}

async function lookAtModel(
  models: Models,
  refused: ReadonlyMap<string, readonly string[]>,
  part: Part,
  depth: Depth,
  servers: Config["llm"]["servers"],
  shutdown: AbortSignal | undefined,
): Promise<Finding> {
  const what = `model ${part.name}`;
  const trial = new Trial(models, part, shutdown);
  try {
    const can = await trial.run(depth);
    const missing = can.filter((one) => one.startsWith("but "));
    const server = serverOf(part.name, servers);
    const atServer = server === undefined ? trial.model : trial.model.slice(server.name.length + 1);
    const detail = [...can, ...(refused.get(atServer) ?? []), ...trial.learned()].join(", ");
    const todo = trial.advice();
    const state = missing.length > 0 || todo !== null ? "unsure" : "ok";
    return { what, state, detail, ...(todo !== null && { todo }) };
  } catch (error) {
    const done = trial.done.length === 0 ? "" : `${trial.done.join(", ")}, but `;
    const detail = `${done}${trial.doing} failed: ${errorMessage(error)}`;
    const server = serverOf(part.name, servers);
    const where = server === undefined ? "llm.base_url, OPENAI_API_KEY" : `[llm.servers.${server.name}]`;
    return { what, state: "wrong", detail, todo: `see ${where} and the name of the model` };
  }
}

class Trial {
  readonly done: string[] = [];
  /** The current step, in words. */
  doing = "finding the model";
  readonly #models: Models;
  readonly #part: Part;
  readonly #shutdown: AbortSignal | undefined;
  /** Its full name. */
  model = "";
  #measured: number | null = null;

  constructor(models: Models, part: Part, shutdown: AbortSignal | undefined) {
    this.#models = models;
    this.#part = part;
    this.#shutdown = shutdown;
  }

  /** @throws ModelError of the first step that fails */
  async run(depth: Depth): Promise<readonly string[]> {
    const { name, staff, answers, summarises } = this.#part;
    this.model = await this.#models.resolve(name, this.#signal());
    const startedAt = performance.now();
    if (answers || depth === "turn") {
      this.doing = "a turn as in a conversation";
      await this.#ask(turnRequest(staff, this.model, ASKS.word, [], new Date()));
      this.done.push(`${this.model} answers (${Math.round(performance.now() - startedAt)} ms)`);
    }
    if (depth === "turn") return this.done;
    if (answers && triedTool(staff) !== undefined) this.done.push(await this.#call());
    if (summarises) {
      this.doing = "a summary";
      const request = summaryRequest(staff, this.model, this.#known().tokens, new Date());
      await this.#ask(request);
      this.done.push("writes summaries");
    }
    if (depth === "window") {
      this.doing = "the search for its window";
      this.#measured = await measureWindow(
        async (request) => this.#ask(request),
        this.model,
        this.#known().tokens,
      );
    }
    return this.done;
  }

  learned(): readonly string[] {
    const { tokens, source, until } = this.#known();
    const known = describeKnown(source, until, this.#part.staff.agent.time);
    const measured = this.#measured;
    const read = measured === null || measured >= tokens ? "" : `; it reads about ${formatNumber(measured)}`;
    const whole = measured !== null && read === "" ? "; it reads all of it" : "";
    const price = this.#models.priceOf(this.model);
    return [
      `with a window of ${formatNumber(tokens)} tokens (${known}${read}${whole})`,
      CACHES[this.#models.cacheRule(this.model)?.marks ?? "none"],
      ...(price === undefined ? ["its price is unknown ([models] says it)"] : []),
    ];
  }

  advice(): string | null {
    const { tokens, most = 0 } = this.#known();
    if (most <= tokens) return null;
    const [given, all] = [formatNumber(tokens), formatNumber(most)];
    return `Ollama gives it ${given} of its ${all} tokens: set OLLAMA_CONTEXT_LENGTH where Ollama runs, as far as its memory allows`;
  }

  async #call(): Promise<string> {
    const { staff } = this.#part;
    const tool = triedTool(staff)?.name ?? "";
    this.doing = "a call of a tool";
    const words = ASKS.call(tool);
    const now = new Date();
    const { calls, thoughts } = await this.#ask(turnRequest(staff, this.model, words, [], now));
    if (calls.length === 0) return "but calls no tool when it is asked to";
    this.doing = "the answer to a tool's result";
    const request = turnRequest(staff, this.model, words, calls, now);
    await this.#ask({ ...request, ...(thoughts !== undefined && { thoughts: [thoughts] }) });
    return "calls tools";
  }

  #known(): KnownWindow {
    const { name, staff } = this.#part;
    const { config } = staff.agent;
    return this.#models.knownWindow(this.model, name === config.model ? config.contextWindow : 0);
  }

  async #ask(request: ModelRequest): Promise<ModelAnswer> {
    return this.#models.model.answer(request, { signal: this.#signal() });
  }

  #signal(): AbortSignal {
    const late = AbortSignal.timeout(CALL_MS);
    return this.#shutdown === undefined ? late : AbortSignal.any([late, this.#shutdown]);
  }
}
