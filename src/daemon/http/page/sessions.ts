import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { CODE_VALID_MS, type PageRole, type SignInCode } from "./codes.ts";

export interface Session {
  readonly role: PageRole;
  /** Each form of the session sends it: another site cannot know it. */
  readonly formToken: string;
}

/** How long a session lasts without a request, ms. */
const IDLE_MS = 12 * 3_600_000;
/** Most sessions; the one that was idle longest gives way. */
const MOST_SESSIONS = 100;
const SECRET_BYTES = 32;

interface Known extends Session {
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
  /** Used codes by their nonces, with the time until which they would be valid. */
  readonly #used = new Map<string, number>();

  /** @param now ms */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** @returns the secret of the new session; null: the code was used before, or is older than this process */
  signIn({ role, madeAt, nonce }: SignInCode): string | null {
    const now = this.#now();
    for (const [used, until] of this.#used) if (until <= now) this.#used.delete(used);
    if (madeAt < this.#startedAt || this.#used.has(nonce)) return null;
    this.#used.set(nonce, madeAt + CODE_VALID_MS);
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MOST_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.set(hashOf(secret), { role, formToken: tokenOf(secret), usedAt: now });
    return secret;
  }

  /** Undefined: there is none with this secret, or it has ended. */
  of(secret: string): Session | undefined {
    const now = this.#now();
    const key = hashOf(secret);
    const known = this.#sessions.get(key);
    // The map is in the order of the last use.
    this.#sessions.delete(key);
    if (known === undefined || now - known.usedAt >= IDLE_MS) return undefined;
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

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

function tokenOf(secret: string): string {
  return createHmac("sha256", secret).update("form").digest("base64url");
}
