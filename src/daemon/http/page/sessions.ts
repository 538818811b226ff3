import { createHash, createHmac, randomBytes } from "node:crypto";
import { BoundedMap } from "../../../async/bounded-map.ts";
import type { SignInCode } from "./codes.ts";
import type { Role } from "./roles.ts";

export interface Session {
  /** Names it in the log; nobody signs in by it. */
  readonly id: string;
  /** Each form of the session sends it: another site cannot know it. */
  readonly formToken: string;
  /** It never changes: another role is another session. */
  readonly role: Role;
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
  readonly usedAt: number;
}

/**
 * Who is signed in to this process' page. A restart ends all sessions: while no daemon listens, another program may have its port,
 * and a tab that was left open would send it a secret that is still valid. Secrets are kept as hashes.
 */
export class Sessions {
  readonly #now: () => number;
  readonly #startedAt: number;
  /** By the hashes of their secrets, the one that was idle longest first. */
  readonly #sessions = new BoundedMap<Known>(MOST_SESSIONS);
  /** Nonces of used codes. The clock may be set back: they are not forgotten by it. */
  readonly #used = new BoundedMap<true>(MOST_USED);

  /** @param now ms */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** @returns the secret of the new session; null: the code was used before, or is older than this process */
  signIn({ madeAt, nonce, role }: SignInCode): string | null {
    if (madeAt < this.#startedAt || this.#used.has(nonce)) return null;
    this.#used.set(nonce, true);
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const now = this.#now();
    const session = { id: idOf(secret), formToken: tokenOf(secret), role };
    this.#sessions.set(hashOf(secret), { ...session, since: now, usedAt: now });
    return secret;
  }

  /** Undefined: there is none with this secret, or it has ended. */
  of(secret: string): Session | undefined {
    const key = hashOf(secret);
    const known = this.#open(key);
    if (known !== undefined) this.#sessions.set(key, { ...known, usedAt: this.#now() });
    return known;
  }

  /** Whether a session has not ended. An open stream asks, which is no use of it. */
  lasts(secret: string): boolean {
    return this.#open(hashOf(secret)) !== undefined;
  }

  signOut(secret: string): void {
    this.#sessions.delete(hashOf(secret));
  }

  #open(key: string): Known | undefined {
    const now = this.#now();
    const known = this.#sessions.get(key);
    if (known === undefined || (now - known.usedAt < IDLE_MS && now - known.since < LONGEST_MS)) return known;
    this.#sessions.delete(key);
    return undefined;
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

/** Digits of an id: enough to tell the sessions of a log apart. */
const ID_LENGTH = 8;

function idOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, ID_LENGTH);
}

function tokenOf(secret: string): string {
  return createHmac("sha256", secret).update("form").digest("base64url");
}
