import { withDeadline } from "../../async/deadline.ts";
import type { LearnedSource } from "./window-evidence.ts";

/** A window that was learned from a model's refusals, or from what its server counts. */
export interface LearnedWindow {
  readonly tokens: number;
  readonly source: LearnedSource;
  /** It is believed no longer: servers are given larger windows, and nobody tells. */
  readonly until: Date;
  /** What `[models]` said of the window at that time; 0: nothing. */
  readonly configured: number;
  readonly at: Date;
}

/** What an earlier run has learned of a model. */
export interface LearnedModel {
  readonly model: string;
  readonly window: LearnedWindow | null;
  /** Real tokens per estimated token; null: nothing was reported. */
  readonly factor: number | null;
}

/** Where it is kept what was learned of models, by server: another server may run a model of that name otherwise. */
export interface LearnedModels {
  load(server: string): Promise<readonly LearnedModel[]>;
  /** The newest window replaces an older one. */
  keepWindow(server: string, model: string, window: LearnedWindow): Promise<void>;
  keepFactor(server: string, model: string, factor: number): Promise<void>;
}

/** Longest wait at the end for what is still being written, ms. */
const END_WITHIN_MS = 2000;

/** Writes what is learned, one after the other and the newest of each alone; nobody waits for it. */
export class LearnedKeeper {
  readonly #waiting = new Map<string, () => Promise<void>>();
  readonly #onFailure: (error: unknown) => void;
  #writing: Promise<void> | null = null;

  /** @param onFailure called for what could not be kept: the next run learns it anew */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** @param key of two that wait with one key, only the second is written */
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
