import { withDeadline } from "../../async/deadline.ts";
import type { LearnedSource } from "./window-evidence.ts";

/** A window learned from a model's refusals, or from its server's counts. */
export interface LearnedWindow {
  readonly tokens: number;
  readonly source: LearnedSource;
  /** When it expires, since servers may get larger windows without notice. */
  readonly until: Date;
  /** The window in `[models]` at that time; 0: none. */
  readonly configured: number;
  readonly at: Date;
}

/** An earlier run's lessons on a model. */
export interface LearnedModel {
  readonly model: string;
  readonly window: LearnedWindow | null;
  /** Real tokens per estimated token; null: no report. */
  readonly factor: number | null;
}

/** Storage of lessons by server, since other servers may run the same model differently. */
export interface LearnedModels {
  load(server: string): Promise<readonly LearnedModel[]>;
  /** Replaces an older window. */
  keepWindow(server: string, model: string, window: LearnedWindow): Promise<void>;
  keepFactor(server: string, model: string, factor: number): Promise<void>;
}

/** Longest wait at the end for pending writes, ms. */
const END_WITHIN_MS = 2000;

/** Writes lessons in sequence, and only the newest of each key, without making a caller wait. */
export class LearnedKeeper {
  readonly #waiting = new Map<string, () => Promise<void>>();
  readonly #onFailure: (error: unknown) => void;
  #writing: Promise<void> | null = null;

  /** @param onFailure called for a failed write: the next run learns it again */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** @param key of two pending writes with one key, only the second is made */
  keep(key: string, write: () => Promise<void>): void {
    this.#waiting.set(key, write);
    this.#writing ??= this.#writeAll();
  }

  async end(): Promise<void> {
    if (this.#writing !== null) await withDeadline(this.#writing, END_WITHIN_MS);
  }

  async #writeAll(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [key, write] = next;
      this.#waiting.delete(key);
      try {
        await write();
      } catch (error) {
        this.#onFailure(error);
      }
    }
    this.#writing = null;
  }
}
