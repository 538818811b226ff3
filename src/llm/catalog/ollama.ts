import { z } from "zod";

import { abortedAfter } from "../../async/deadline.ts";
import { boundedJson } from "../http/bounded-body.ts";

/** The default address of Ollama. */
export const OLLAMA_ORIGIN = "http://127.0.0.1:11434";

/** Whether a server is taken for an Ollama: whatever answers on its usual port. Pure. */
export function isOllamaAt(url: URL): boolean {
  return url.port === new URL(OLLAMA_ORIGIN).port;
}

/** Timeout, in milliseconds, of a request that loads no model. */
const STATUS_MS = 2000;

const tags = z.object({ models: z.array(z.object({ name: z.string() })) });
const running = z.object({
  models: z.array(z.object({ name: z.string(), context_length: z.number().positive().nullish() })),
});

/**
 * Looks for Ollama.
 * @returns the names of its models; undefined if it does not answer in time
 */
export async function probeOllama(origin: string, timeoutMs: number): Promise<string[] | undefined> {
  const body = await json(`${origin}/api/tags`, {}, AbortSignal.timeout(timeoutMs));
  return tags.safeParse(body).data?.models.map(({ name }) => name);
}

/**
 * Tokens of the window with which Ollama has loaded a model. This window is not the model's own (4,096 on a
 * machine with little memory). The OpenAI-compatible endpoint cannot set the window, and cuts off a longer
 * prompt without an error. Loads the model if necessary: the turn would do so next anyway.
 * @returns undefined if Ollama does not tell
 */
export async function ollamaWindow(
  origin: string,
  model: string,
  loadTimeoutMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const loaded = await loadedWindow(origin, model, signal);
  if (loaded !== undefined) return loaded;
  await json(`${origin}/api/generate`, { model, stream: false }, within(loadTimeoutMs, signal));
  return loadedWindow(origin, model, signal);
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

/**
 * @param post sent as JSON if it has fields
 * @returns undefined for every failure
 */
async function json(url: string, post: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
  try {
    const hasBody = Object.keys(post).length > 0;
    const response = await fetch(url, {
      ...(hasBody && { method: "POST", body: JSON.stringify(post) }),
      redirect: "manual",
      signal,
    });
    if (response.ok) return await boundedJson(response);
    await response.body?.cancel();
  } catch {
    // No server, no answer in time, or no JSON: all mean "unknown" to the caller.
  }
  return undefined;
}
