import { z } from "zod";

import { abortedAfter } from "../../async/deadline.ts";
import { boundedJson } from "../http/bounded-body.ts";

export const OLLAMA_ORIGIN = "http://127.0.0.1:11434";

/** Whether a server uses Ollama's usual port. Pure. */
export function isOllamaAt(url: URL): boolean {
  return url.port === new URL(OLLAMA_ORIGIN).port;
}

/** Hosted servers, which are no Ollama and are not probed. */
const HOSTED =
  /(?:^|\.)(?:openai\.com|anthropic\.com|openrouter\.ai|googleapis\.com|azure\.com|amazonaws\.com|mistral\.ai|groq\.com|deepseek\.com|together\.(?:ai|xyz)|fireworks\.ai|x\.ai|cohere\.(?:ai|com)|perplexity\.ai|cerebras\.ai|nvidia\.com|moonshot\.(?:ai|cn)|z\.ai|bigmodel\.cn|aliyuncs\.com|huggingface\.co|githubcopilot\.com|deepinfra\.com)$/;
/** Longest wait for a probe's answer, ms. */
const PROBE_MS = 500;
/** Probes without an answer in time before a server counts as no Ollama. */
const MOST_LATE = 2;
/** Pause after an unanswered probe, ms. */
const REST_MS = 60_000;

/** Timeout, in milliseconds, of a request that loads no model. */
const STATUS_MS = 2000;

const tags = z.object({ models: z.array(z.object({ name: z.string() })) });
const running = z.object({
  models: z.array(z.object({ name: z.string(), context_length: z.number().positive().nullish() })),
});
const version = z.object({ version: z.string() });
/** `POST /api/show`: `model_info` has the architecture in its keys, and `parameters` is a text of lines. */
const shown = z.object({
  parameters: z.string().nullish().catch(undefined),
  model_info: z.record(z.string(), z.unknown()).nullish().catch(undefined),
});

/**
 * The windows with which the Ollama at a server runs its models. The API shows whether a server is an Ollama, whatever
 * its port; it is probed once. The window is set at Ollama, by `OLLAMA_CONTEXT_LENGTH`, or by `num_ctx` of a derived
 * model: requests to its OpenAI-compatible endpoint cannot set it (Ollama's page on OpenAI compatibility, read in
 * November 2026), and a model that the native endpoint has loaded with another `num_ctx` is reloaded for them
 * (`needsReload` in its scheduler).
 */
export class OllamaWindows {
  readonly #origin: string;
  readonly #loadTimeoutMs: number;
  readonly #onSmall: (model: string, window: number, most: number) => void;
  #late = 0;
  /** Undefined: not probed, or without an answer. */
  #isThere: boolean | undefined;
  readonly #windows = new Map<string, RunningWindow>();
  /** When an unanswered question may be repeated, by `performance.now()`. */
  readonly #restUntil = new Map<string, number>();

  /**
   * @param isKnown it has answered as an Ollama, or uses its port
   * @param onSmall called once for each model that runs with a smaller window than its own
   */
  constructor(
    url: URL,
    isKnown: boolean,
    loadTimeoutMs: number,
    onSmall: (model: string, window: number, most: number) => void = () => undefined,
  ) {
    this.#origin = url.origin;
    this.#loadTimeoutMs = loadTimeoutMs;
    this.#onSmall = onSmall;
    if (isKnown) this.#isThere = true;
    else if (HOSTED.test(url.hostname)) this.#isThere = false;
  }

  get isThere(): boolean {
    return this.#isThere ?? false;
  }

  of(model: string): RunningWindow | undefined {
    return this.#windows.get(model);
  }

  /** Whether a question is open before a request to this model. */
  mayAsk(model: string): boolean {
    if (this.#isThere === false) return false;
    if (this.#isThere === undefined) return !this.#rests("");
    return !this.#windows.has(model) && !this.#rests(model);
  }

  /** Finds out whether the server is an Ollama. Never throws. */
  async look(signal: AbortSignal): Promise<void> {
    if (this.#isThere !== undefined || this.#rests("")) return;
    const patience = within(PROBE_MS, signal);
    const ask = async (path: string): Promise<unknown> => json(`${this.#origin}/api/${path}`, {}, patience);
    const answers = await Promise.all([ask("tags"), ask("version")]);
    const [listed, told] = answers;
    // Other servers have a version, too.
    const isOne = async (): Promise<boolean> =>
      version.safeParse(told).success && running.safeParse(await ask("ps")).success;
    if (tags.safeParse(listed).success || (await isOne())) this.#isThere = true;
    // A server that is down may be an Ollama. A server that accepts the probe and stays silent would delay turn after
    // turn.
    else if (
      answers.every((answer) => answer === NO_ANSWER) &&
      (!patience.aborted || signal.aborted || ++this.#late < MOST_LATE)
    )
      this.#rest("");
    else this.#isThere = false;
  }

  /** Asks for a model's window, which loads the model. Never throws. */
  async learn(model: string, signal: AbortSignal): Promise<void> {
    if (!this.isThere || !this.mayAsk(model)) return;
    const window = await ollamaWindow(this.#origin, model, this.#loadTimeoutMs, signal);
    if (window === undefined) {
      if (!signal.aborted) this.#rest(model);
      return;
    }
    this.#windows.set(model, window);
    if (window.most > window.tokens) this.#onSmall(model, window.tokens, window.most);
  }

  #rest(question: string): void {
    this.#restUntil.set(question, performance.now() + REST_MS);
  }

  #rests(question: string): boolean {
    return (this.#restUntil.get(question) ?? 0) > performance.now();
  }
}

export interface RunningWindow {
  readonly tokens: number;
  /** The model's largest possible window, tokens; 0: unknown. */
  readonly most: number;
}

/**
 * Looks for Ollama.
 * @returns the names of its models; undefined if it does not answer in time
 */
export async function probeOllama(origin: string, timeoutMs: number): Promise<string[] | undefined> {
  const body = await json(`${origin}/api/tags`, {}, AbortSignal.timeout(timeoutMs));
  return tags.safeParse(body).data?.models.map(({ name }) => name);
}

/**
 * The window with which Ollama has loaded a model. It differs from the model's own (4,096 on a machine with little
 * memory), and a longer prompt is cut off without an error. Loads the model if necessary, as the turn's next request
 * would.
 * @returns undefined: Ollama does not state it
 */
async function ollamaWindow(
  origin: string,
  model: string,
  loadTimeoutMs: number,
  signal: AbortSignal,
): Promise<RunningWindow | undefined> {
  const [loaded, own] = await Promise.all([
    loadedWindow(origin, model, signal),
    json(`${origin}/api/show`, { model }, within(STATUS_MS, signal)).then(
      (body) => shown.safeParse(body).data,
    ),
  ]);
  const most = contextLengthIn(own?.model_info ?? {});
  if (loaded !== undefined) return { tokens: loaded, most };
  await json(`${origin}/api/generate`, { model, stream: false }, within(loadTimeoutMs, signal));
  // An older Ollama does not list it; then the model's own setting counts, if it has one.
  const tokens = (await loadedWindow(origin, model, signal)) ?? setWindowIn(own?.parameters ?? "");
  return tokens === undefined ? undefined : { tokens, most };
}

function contextLengthIn(info: Readonly<Record<string, unknown>>): number {
  const told = Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1];
  return typeof told === "number" && told > 0 ? told : 0;
}

function setWindowIn(parameters: string): number | undefined {
  const digits = /^num_ctx[ \t]+(\d{3,9})\b/m.exec(parameters)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

async function loadedWindow(origin: string, model: string, signal: AbortSignal): Promise<number | undefined> {
  const body = await json(`${origin}/api/ps`, {}, within(STATUS_MS, signal));
  const name = model.includes(":") ? model : `${model}:latest`;
  const row = running.safeParse(body).data?.models.find((candidate) => candidate.name === name);
  return row?.context_length ?? undefined;
}

function within(timeoutMs: number, signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, abortedAfter(timeoutMs)]);
}

const NO_ANSWER = Symbol("no answer");

/**
 * @param post sent as JSON if it has fields
 * @returns undefined for an answer that is not JSON, or an error
 */
async function json(url: string, post: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
  try {
    const hasBody = Object.keys(post).length > 0;
    const response = await fetch(url, {
      ...(hasBody && { method: "POST", body: JSON.stringify(post) }),
      redirect: "manual",
      signal,
    });
    if (response.ok) return await boundedJson(response).catch(() => undefined);
    await response.body?.cancel();
    return undefined;
  } catch {
    return NO_ANSWER;
  }
}
