import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { SignInCode } from "./codes.ts";

export interface Session {
  /** Each form of the session sends it: another site cannot know it. */
  readonly formToken: string;
}

/** How long a session lasts without a request, and at all, ms. */
const IDLE_MS = 12 * 3_600_000;
const LONGEST_MS = 7 * 24 * 3_600_000;
/** Most sessions; the one that was idle longest gives way. */
const MOST_SESSIONS = 100;
/** Used codes that are remembered: far more than a person makes within a code's minute. */
const MOST_USED = 10_000;
const SECRET_BYTES = 32;

interface Known extends Session {
  readonly since: number;
  usedAt: number;
}

/**
 * Who is signed in to this process' page. A restart ends all sessions, so a code that was used before it is not valid after
 * it. Secrets are kept as hashes.
 */
export class Sessions {
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #sessions = new Map<string, Known>();
  /** Nonces of used codes, the oldest first. The clock may be set back: they are not forgotten by it. */
  readonly #used = new Set<string>();

  /** @param now ms */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** @returns the secret of the new session; null: the code was used before, or is older than this process */
  signIn({ madeAt, nonce }: SignInCode): string | null {
    if (madeAt < this.#startedAt || this.#used.has(nonce)) return null;
    this.#used.add(nonce);
    if (this.#used.size > MOST_USED) removeFirst(this.#used);
    if (this.#sessions.size >= MOST_SESSIONS) removeFirst(this.#sessions);
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const now = this.#now();
    this.#sessions.set(hashOf(secret), { formToken: tokenOf(secret), since: now, usedAt: now });
    return secret;
  }

  /** Undefined: there is none with this secret, or it has ended. */
  of(secret: string): Session | undefined {
    const now = this.#now();
    const key = hashOf(secret);
    const known = this.#sessions.get(key);
    // The map is in the order of the last use.
    this.#sessions.delete(key);
    if (known === undefined || now - known.usedAt >= IDLE_MS || now - known.since >= LONGEST_MS)
      return undefined;
    known.usedAt = now;
    this.#sessions.set(key, known);
    return known;
  }

  signOut(secret: string): void {
    this.#sessions.delete(hashOf(secret));
  }
}

/** Compares in constant time. */
export function isToken({ formToken }: Session, token: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(formToken)), Buffer.from(hashOf(token)));
}

function removeFirst(all: Set<string> | Map<string, unknown>): void {
  const [first] = all.keys();
  if (first !== undefined) all.delete(first);
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

function tokenOf(secret: string): string {
  return createHmac("sha256", secret).update("form").digest("base64url");
}
