import type { Logger } from "pino";
import type { ChannelRegistry } from "../channel/registry.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelAddress } from "../core/ids.ts";
import type { CompactionStore } from "../store/compactions.ts";
import type { RequestStore, WaitingRequest } from "../store/requests.ts";
import { type CompactAnswer, forceCompaction } from "./compact-answer.ts";

export interface RequestDeskParts {
  readonly store: { readonly requests: RequestStore; readonly compactions: CompactionStore };
  readonly registry: Pick<ChannelRegistry, "visit">;
  /** Can this daemon deliver to the channel? */
  readonly serves: (channel: ChannelAddress) => boolean;
  readonly log: Logger;
}

/** How often it looks by itself, where a notification was lost, ms. */
const POLL_MS = 2000;
/** A channel of another daemon's platform is left to that daemon for so long, ms. */
const OTHERS_FIRST_MS = 500;

/**
 * Takes what commands beside this daemon ask of it (`weir compact`), and answers in the same row. It hears of a request
 * by NOTIFY and looks by itself as well, so a lost connection costs seconds and no request.
 */
export class RequestDesk implements AsyncDisposable {
  readonly #parts: RequestDeskParts;
  readonly #work = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #listening: Promise<AsyncDisposable | null> | null = null;
  #looking: Promise<void> | null = null;
  #isClosed = false;

  constructor(parts: RequestDeskParts) {
    this.#parts = parts;
  }

  /** Begins to take requests. Must not throw. */
  async open(): Promise<void> {
    await this.#parts.store.requests.clean().catch((error: unknown) => this.#warn(error));
    this.#look();
  }

  /** Takes nothing new. Resolves once what was taken is answered: close the registry first. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await (await this.#listening)?.[Symbol.asyncDispose]();
    await Promise.all(this.#work);
  }

  #look(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#looking = (this.#looking ?? Promise.resolve()).then(async () => {
      const nextMs = await this.#takeAll().catch((error: unknown) => {
        this.#warn(error);
        return POLL_MS;
      });
      if (this.#isClosed) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), nextMs).unref();
    });
  }

  /** @returns when to look again, ms */
  async #takeAll(): Promise<number> {
    if (this.#isClosed) return POLL_MS;
    const { store, serves } = this.#parts;
    await this.#listen();
    let nextMs = POLL_MS;
    for (const request of await store.requests.waiting()) {
      const waitMs = serves(request.address) ? 0 : OTHERS_FIRST_MS - request.ageMs;
      if (waitMs > 0) nextMs = Math.min(nextMs, waitMs);
      else if (await store.requests.take(request.id)) this.#begin(request);
    }
    return nextMs;
  }

  async #listen(): Promise<void> {
    this.#listening ??= this.#parts.store.requests
      .listen(
        () => this.#look(),
        () => {
          this.#listening = null;
        },
      )
      .catch((error: unknown) => {
        this.#warn(error);
        return null;
      });
    // Not heard now: the next look tries again.
    if ((await this.#listening) === null) this.#listening = null;
  }

  #begin(request: WaitingRequest): void {
    const work = this.#answer(request).catch((error: unknown) => this.#warn(error));
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  async #answer({ id, channel }: WaitingRequest): Promise<void> {
    const { store, registry } = this.#parts;
    let answer: CompactAnswer = { kind: "failed" };
    try {
      answer = await registry.visit(channel, async ({ compactor }) => {
        return forceCompaction(compactor, store.compactions);
      });
    } catch (error) {
      this.#warn(error);
    }
    await store.requests.answer(id, answer);
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ why: errorMessage(error) }, "request_failed");
  }
}
