import type { ModelConfig } from "../../config/config.ts";
import type { Api } from "../dialect.ts";

/** The life of a cache's entries, and the cost of writing them. */
export interface CacheLife {
  /** ms since its last use. */
  readonly ms: number;
  /** Cost of a written token, relative to an uncached one. */
  readonly write: number;
  /** The request's value; undefined: the server's default, which is left out. */
  readonly ttl: "1h" | "12h" | undefined;
}

/** How a model's provider caches the beginnings of requests. */
export interface CacheRule {
  /**
   * `none`: any common beginning is found, and requests have no marks. `breakpoints`: an entry ends at a mark, and is
   * found only at a mark in the same place. `cache_control`: the same, but it is searched for up to 20 parts before
   * each mark.
   */
  readonly marks: "none" | "breakpoints" | "cache_control";
  readonly most: number;
  /** Fewest tokens of a cached beginning. */
  readonly least: number;
  /** Cost of a token read from the cache, relative to an uncached one, unless a price is known. */
  readonly read: number;
  /** The lives that a request can choose, the shortest first. */
  readonly lives: readonly [CacheLife, ...CacheLife[]];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Any common beginning is found: OpenAI's models before gpt-5.6, DeepSeek, vLLM, llama.cpp and others. OpenAI keeps it
 * for a day (the types of its client 7.55, at `prompt_cache_retention`), the others while they have room.
 */
const PREFIX: CacheRule = {
  marks: "none",
  most: 0,
  least: 1024,
  read: 0.1,
  lives: [{ ms: 24 * HOUR_MS, write: 1, ttl: undefined }],
};

/**
 * OpenAI from gpt-5.6 on: a request writes its latest four breakpoints, and searches its latest 80; an assistant's text
 * cannot have one. Twelve hours are for Responses alone. From OpenAI's guide to prompt caching, and the types of its
 * client 7.55, read in November 2026.
 */
const BREAKPOINTS: CacheRule = {
  marks: "breakpoints",
  most: 16,
  least: 1024,
  read: 0.1,
  lives: [{ ms: 30 * MINUTE_MS, write: 1.25, ttl: undefined }],
};
const TWELVE_HOURS: CacheLife = { ms: 12 * HOUR_MS, write: 2.5, ttl: "12h" };

/** Anthropic's guide to prompt caching, read in November 2026. */
const CACHE_CONTROL: CacheRule = {
  marks: "cache_control",
  most: 4,
  least: 1024,
  read: 0.1,
  lives: [
    { ms: 5 * MINUTE_MS, write: 1.25, ttl: undefined },
    { ms: HOUR_MS, write: 2, ttl: "1h" },
  ],
};

/** Fewest tokens that Anthropic caches, if not 1,024, by the beginning of the model's name; the first match counts. */
const LEAST_CACHED: readonly (readonly [prefix: string, tokens: number])[] = [
  ["claude-opus-5", 512],
  ["claude-fable-5", 512],
  ["claude-mythos-5", 512],
  ["claude-opus-4-7", 2048],
  ["claude-opus-4-6", 4096],
  ["claude-opus-4-5", 4096],
  ["claude-haiku-4-5", 4096],
  ["claude-3", 2048],
];

export interface CachedModel {
  /** Its server's; "": on this machine. */
  readonly hostname: string;
  /** The server's name. */
  readonly model: string;
  /** The operator's setting; `auto`: by its server. */
  readonly said: ModelConfig["cacheMarkers"];
  readonly api: Api;
}

/**
 * The rule for a model's requests. Marks are for OpenAI from gpt-5.6 on and for Anthropic, at their own servers, at
 * Azure and at OpenRouter, which passes them on (its guide to prompt caching, read in November 2026); for other
 * gateways only their operator knows. If a server refuses the marks, the wire stops sending them.
 */
export function cacheRuleOf({ hostname, model, said, api }: CachedModel): CacheRule {
  const name = plainName(model);
  if (said === true)
    return hasBreakpoints(name) ? BREAKPOINTS : { ...controlOf(name), most: MOST_AT_GATEWAY };
  if (said === "breakpoints") return BREAKPOINTS;
  if (said === false) return PREFIX;
  if (api === "messages") return controlOf(name);
  const isOpenRouter = /(?:^|\.)openrouter\.ai$/.test(hostname);
  if (isOpenRouter && /^~?anthropic\//.test(model)) return controlOf(name);
  const isOpenAi = /(?:^|\.)(?:api\.openai\.com|openai\.azure\.com)$/.test(hostname);
  if (!hasBreakpoints(name) || !(isOpenAi || (isOpenRouter && /^~?openai\//.test(model)))) return PREFIX;
  return api === "responses" ? { ...BREAKPOINTS, lives: [...BREAKPOINTS.lives, TWELVE_HOURS] } : BREAKPOINTS;
}

/** One below the limit, since some gateways add a mark of their own. */
const MOST_AT_GATEWAY = 3;

function controlOf(name: string): CacheRule {
  const least = LEAST_CACHED.find(([prefix]) => name.startsWith(prefix))?.[1];
  return least === undefined ? CACHE_CONTROL : { ...CACHE_CONTROL, least };
}

/** Whether the model is OpenAI's gpt-5.6 or later. */
function hasBreakpoints(name: string): boolean {
  const [, major, minor] = /^gpt-(\d{1,3})(?:\.(\d{1,3}))?(?!\d)/.exec(name) ?? [];
  if (major === undefined) return false;
  return Number(major) > 5 || (Number(major) === 5 && Number(minor ?? 0) >= 6);
}

/** `claude-opus-4-6` for `~anthropic/claude-opus-4.6`. */
function plainName(model: string): string {
  const last = model.toLowerCase().split("/").at(-1) ?? "";
  return last.startsWith("claude-") ? last.replaceAll(".", "-") : last;
}
