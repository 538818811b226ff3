import { randomBytes } from "node:crypto";
import { BoundedMap } from "../../../async/bounded-map.ts";
import type { Done } from "./place.ts";
import type { Session } from "./sessions.ts";

const KEPT = 100;
const KEY_BYTES = 12;

/** Outcomes of acts until the place shows them, each once: an address names one, and has no text of it. */
export class Outcomes {
  readonly #kept = new BoundedMap<Done & { readonly session: string }>(KEPT);

  /** The address of the place that shows it. */
  at({ id }: Pick<Session, "id">, done: Done): string {
    const key = randomBytes(KEY_BYTES).toString("base64url");
    this.#kept.set(key, { ...done, session: id });
    return `${done.place}${done.place.includes("?") ? "&" : "?"}outcome=${key}`;
  }

  /** Null: there is none of this key, it was shown, or it is another session's. */
  take({ id }: Pick<Session, "id">, key: string): Done | null {
    const kept = this.#kept.get(key);
    if (kept?.session !== id) return null;
    this.#kept.delete(key);
    return kept;
  }
}
