import type { CacheLife, CacheRule } from "./rules.ts";

/** What a request says of caches, as a provider's API names it. */
export interface CacheFields {
  /** Of a marked part of a message. */
  readonly ofPart: object;
  /** Of the request. */
  readonly ofRequest: object;
}

/**
 * The fields by which a request asks for its marks. With `mode: "explicit"` OpenAI sets no mark of its own at the latest message: that one changes with each
 * request, and would be written anew each time.
 */
export function cacheFieldsOf(
  { marks }: Pick<CacheRule, "marks">,
  { ttl }: Pick<CacheLife, "ttl">,
): CacheFields {
  const asked = ttl === undefined ? {} : { ttl };
  switch (marks) {
    case "none":
      return { ofPart: {}, ofRequest: {} };
    case "breakpoints":
      return {
        ofPart: { prompt_cache_breakpoint: { mode: "explicit", ...asked } },
        ofRequest: { prompt_cache_options: { mode: "explicit" } },
      };
    case "cache_control":
      return { ofPart: { cache_control: { type: "ephemeral", ...asked } }, ofRequest: {} };
  }
}
