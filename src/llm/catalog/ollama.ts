import { z } from "zod";

import { boundedJson } from "../http/bounded-body.ts";

/** Where an Ollama listens unless told otherwise. */
export const OLLAMA_ORIGIN = "http://127.0.0.1:11434";

/** Milliseconds for a question that Ollama answers from memory. */
const STATUS_MS = 2000;

const tags = z.object({ models: z.array(z.object({ name: z.string() })) });
const running = z.object({
  models: z.array(z.object({ name: z.string(), context_length: z.number().positive().nullish() })),
});

/**
 * Is there an Ollama?
 * @returns the names of its models; undefined if none answers in time
 */
export async function probeOllama(origin: string, timeoutMs: number): Promise<string[] | undefined> {
  const body = await json(`${origin}/api/tags`, {}, AbortSignal.timeout(timeoutMs));
  return tags.safeParse(body).data?.models.map(({ name }) => name);
}

/**
 * The window that Ollama has loaded a model with, in tokens. It is not the model's own (4,096 on a machine with
 * little memory), cannot be set on its OpenAI-compatible endpoint, and a longer prompt is cut off there without
 * an error: so it has to be known. A model that is not loaded yet is loaded, as the turn would do next anyway.
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
  return AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
}

/**
 * @param post sent as JSON where it has fields
 * @returns undefined for every failure
 */
async function json(url: string, post: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
  try {
    const hasBody = Object.keys(post).length > 0;
    const response = await fetch(url, {
      ...(hasBody && { method: "POST", body: JSON.stringify(post) }),
      signal,
    });
    if (response.ok) return await boundedJson(response);
    await response.body?.cancel();
  } catch {
    // No server, no answer in time, or no JSON: for the caller all of them mean "not known".
  }
  return undefined;
}
