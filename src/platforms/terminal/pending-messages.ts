import type { SettledTurn } from "./turn-news.ts";

/**
 * The addressed messages of this session that still wait for their end.
 *
 *     offered ──accepted──▶ due ──settled: skipped, stopped──────────────▶ finished
 *        │                   └──settled: answered, failed ─┬─ and ─▶ finished
 *        └─refused, duplicate─▶ forgotten    delivered ────┘
 *
 * A turn's settling and the delivery of its text come in either order, and both may come before the log's word
 * that the message was accepted has travelled back here.
 */
export class PendingMessages {
  readonly #pending = new Map<string, Pending>();
  readonly #idleWaiters: (() => void)[] = [];
  #onChange: () => void = () => {};

  get size(): number {
    return this.#pending.size;
  }

  /** Is there one that nothing was said to yet? */
  get isAnyUnanswered(): boolean {
    return this.#pending.values().some(({ isBeingAnswered }) => !isBeingAnswered);
  }

  /** In the order of their arrival. */
  list(): { readonly channel: string; readonly id: string }[] {
    return [...this.#pending.values()].map(({ channel, id }) => ({ channel, id }));
  }

  /** Calls the one listener whenever a message is added or removed. */
  watch(listener: () => void): void {
    this.#onChange = listener;
  }

  /** @returns false if the message is pending already */
  offer(channel: string, id: string): boolean {
    const key = keyOf(channel, id);
    if (this.#pending.has(key)) return false;
    this.#pending.set(key, {
      channel,
      id,
      accepted: Promise.withResolvers<void>(),
      outcome: null,
      isBeingAnswered: false,
      delivered: false,
    });
    this.#onChange();
    return true;
  }

  /** It is durable, and the session knows it. */
  accept(channel: string, id: string): void {
    this.#pending.get(keyOf(channel, id))?.accepted.resolve();
  }

  /** The message gets no reply. */
  forget(channel: string, id: string): void {
    const key = keyOf(channel, id);
    this.#pending.get(key)?.accepted.resolve();
    this.#remove(key);
  }

  /** Removes a deleted message, in any channel: its reply is no longer awaited. */
  forgetId(id: string): void {
    for (const key of this.#pending.keys()) {
      if (key.endsWith(`\n${id}`)) this.forget(key.slice(0, key.length - id.length - 1), id);
    }
  }

  /** Resolves once the session knows that each of these messages was accepted. */
  async whenAccepted(channel: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#pending.get(keyOf(channel, id))?.accepted.promise;
  }

  /** The first piece of the answer is being shown. */
  beginAnswer(channel: string, ids: readonly string[]): void {
    this.#update(channel, ids, { isBeingAnswered: true });
  }

  settle(channel: string, ids: readonly string[], outcome: SettledTurn["outcome"]): void {
    this.#update(channel, ids, { outcome });
  }

  deliver(channel: string, ids: readonly string[]): void {
    this.#update(channel, ids, { delivered: true });
  }

  /** Resolves at the next moment, or now, when nothing is pending. */
  async idle(): Promise<void> {
    if (this.#pending.size === 0) return;
    await new Promise<void>((resolve) => void this.#idleWaiters.push(resolve));
  }

  #update(channel: string, ids: readonly string[], change: Partial<Pending>): void {
    for (const id of ids) {
      const key = keyOf(channel, id);
      const pending = this.#pending.get(key);
      if (pending === undefined) continue;
      Object.assign(pending, change);
      if (isFinished(pending)) this.#remove(key);
    }
  }

  #remove(key: string): void {
    if (!this.#pending.delete(key)) return;
    this.#onChange();
    if (this.#pending.size > 0) return;
    for (const wake of this.#idleWaiters.splice(0)) wake();
  }
}

interface Pending {
  readonly channel: string;
  readonly id: string;
  readonly accepted: PromiseWithResolvers<void>;
  outcome: SettledTurn["outcome"] | null;
  isBeingAnswered: boolean;
  delivered: boolean;
}

function isFinished(pending: Pending): boolean {
  if (pending.outcome === null) return false;
  const bringsText = pending.outcome === "answered" || pending.outcome === "failed";
  return pending.delivered || !bringsText;
}

function keyOf(channel: string, id: string): string {
  return `${channel}\n${id}`;
}
