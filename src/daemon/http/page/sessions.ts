import { createHash, createHmac, randomBytes } from "node:crypto";
import type { PageSessionStore } from "../../../store/page/page-sessions.ts";
import type { SignInCode } from "./codes.ts";

export interface Session {
  /** Each form of the session sends it: another site cannot know it. */
  readonly formToken: string;
}

const SECRET_BYTES = 32;

/** Who is signed in to the page. Only browsers have a session's secret: the database has its hash. */
export class Sessions {
  readonly #store: () => PageSessionStore;
  readonly #now: () => number;

  /** @param store throws if there is none yet @param now ms */
  constructor(store: () => PageSessionStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** @returns the secret of the new session; null: the code was used before */
  async signIn({ nonce }: SignInCode): Promise<string | null> {
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const isBegun = await this.#store().begin(
      Buffer.from(nonce, "base64url"),
      hashOf(secret),
      new Date(this.#now()),
    );
    return isBegun ? secret : null;
  }

  /** Undefined: there is none with this secret, or it has ended. */
  async of(secret: string): Promise<Session | undefined> {
    const isOpen = await this.#store().use(hashOf(secret), new Date(this.#now()));
    return isOpen ? { formToken: tokenOf(secret) } : undefined;
  }

  async signOut(secret: string): Promise<void> {
    await this.#store().end(hashOf(secret));
  }
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function tokenOf(secret: string): string {
  return createHmac("sha256", secret).update("form").digest("base64url");
}
