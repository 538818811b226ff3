import { createHash } from "node:crypto";

export interface Limit {
  readonly requests: number;
  readonly windowMs: number;
}

/** More than the client's own 50 a second, so that only the test's limits matter. */
const DEFAULT_LIMIT: Limit = { requests: 1_000, windowMs: 1_000 };

export interface Allowance {
  readonly isAllowed: boolean;
  /** Time until the window ends, ms. */
  readonly resetAfterMs: number;
  readonly headers: Record<string, string>;
}

/** Rate limits by route and by major parameter (channel, guild or webhook). */
export class Buckets {
  readonly #limits = new Map<string, Limit>();
  readonly #windows = new Map<string, { endsAt: number; used: number }>();

  /** @param route pattern as in the route table */
  set(method: string, route: string, limit: Limit): void {
    this.#limits.set(`${method} ${route}`, limit);
  }

  take(method: string, route: string, major: string): Allowance {
    const name = `${method} ${route}`;
    const limit = this.#limits.get(name) ?? DEFAULT_LIMIT;
    const now = performance.now();
    const key = `${name} ${major}`;
    const current = this.#windows.get(key);
    const window =
      current === undefined || current.endsAt <= now ? { endsAt: now + limit.windowMs, used: 0 } : current;
    this.#windows.set(key, window);
    const isAllowed = window.used < limit.requests;
    if (isAllowed) window.used += 1;
    // The client adds it to a clock of whole milliseconds: a part of one less, and it would come before the end.
    const resetAfterMs = Math.ceil(window.endsAt - now) + 1;
    const headers = {
      "x-ratelimit-bucket": createHash("md5").update(name).digest("hex"),
      "x-ratelimit-limit": String(limit.requests),
      "x-ratelimit-remaining": String(limit.requests - window.used),
      "x-ratelimit-reset": seconds(Date.now() + resetAfterMs),
      "x-ratelimit-reset-after": seconds(resetAfterMs),
    };
    return { isAllowed, resetAfterMs, headers };
  }
}

/** Milliseconds in the headers' form: seconds with three decimals. */
export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}
