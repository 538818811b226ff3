import { unlessAborted } from "../async/deadline.ts";
import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import { AbsentPlatform } from "../platforms/absent-platform.ts";
import type { ChannelActor } from "./actor.ts";
import type { ActorLoader, LoadedActor } from "./loader.ts";

export interface RegistryParts {
  readonly loader: Pick<ActorLoader, "load">;
  /** Called with each new actor before its first use. Must not throw. */
  readonly onLoaded: (id: ChannelId, loaded: LoadedActor) => void;
  readonly log: Logger;
}

/** The actors in memory: one a channel, loaded when it is needed. */
export class ChannelRegistry {
  readonly #parts: RegistryParts;
  /** In memory, or being loaded. */
  readonly #actors = new Map<ChannelId, Promise<ChannelActor>>();
  readonly #ready = new Map<ChannelId, ChannelActor>();
  /** Actors that are being closed: the next one is loaded when they are. */
  readonly #closing = new Map<ChannelId, Promise<void>>();
  /** Loaded only to be summarised: no adapter can deliver to their channels. */
  readonly #visited = new Set<ChannelActor>();
  #isClosed = false;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#actors.size;
  }

  /** It drains: no actor is loaded. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The actor, if it is in memory. */
  loaded(id: ChannelId): ChannelActor | undefined {
    return this.#ready.get(id);
  }

  /** All that are in memory now. */
  all(): readonly (readonly [ChannelId, ChannelActor])[] {
    return [...this.#ready];
  }

  /** The same, and those that are being loaded. */
  begun(): readonly (readonly [ChannelId, Promise<ChannelActor>])[] {
    return [...this.#actors];
  }

  has(id: ChannelId): boolean {
    return this.#actors.has(id);
  }

  /** The channel's actor if it is in memory or being loaded. */
  async inMemory(id: ChannelId): Promise<ChannelActor | undefined> {
    return this.#actors.get(id)?.catch(() => undefined);
  }

  /**
   * The channel's actor, loaded from the log if it is not in memory. Use it at once: it may be evicted at any later tick.
   * @throws NotHomeError if another daemon is home of the channel, WeirError if the log could not be read
   */
  async get(id: ChannelId): Promise<ChannelActor> {
    if (this.#isClosed) throw new Error("the registry is closed");
    const known = this.#actors.get(id);
    if (known !== undefined) return known;
    return this.#keep(id, this.#load(id, undefined));
  }

  /**
   * Works on a channel also if no adapter can deliver to it: the channel is summarised, and nobody is answered.
   * @throws NotHomeError if another daemon is home of the channel, WeirError if the log could not be read
   */
  async visit<Result>(id: ChannelId, work: (actor: ChannelActor) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new Error("the registry is closed");
    const actor = await (this.#actors.get(id) ?? this.#keep(id, this.#load(id, new AbsentPlatform())));
    try {
      return await work(actor);
    } finally {
      if (this.#visited.delete(actor)) {
        this.forget(id);
        await actor.close();
      }
    }
  }

  /** Resolves when no channel that is in memory has a compaction due, waiting or under way. */
  async compactionsIdle(): Promise<void> {
    const actors = [...this.#ready.values()];
    // An entry that is being added may make a compaction due.
    await Promise.all(actors.map(async (actor) => actor.idle()));
    await Promise.all(actors.map(async ({ compactor }) => compactor.idle()));
  }

  /** Removes an actor; the caller closes it. */
  forget(id: ChannelId): void {
    this.#actors.delete(id);
    this.#ready.delete(id);
  }

  /**
   * Closes an actor so that the next one can be loaded. Must not throw.
   * @param loading the promise of the actor to close
   */
  async end(id: ChannelId, loading: Promise<ChannelActor>): Promise<void> {
    if (this.#actors.get(id) === loading) this.forget(id);
    const closed = this.#close(id, loading).catch((error: unknown) => {
      this.#parts.log.error({ id, why: errorMessage(error) }, "channel_not_closed");
    });
    this.#closing.set(id, closed);
    await closed;
    if (this.#closing.get(id) === closed) this.#closing.delete(id);
  }

  async #close(id: ChannelId, loading: Promise<ChannelActor>): Promise<void> {
    // An actor that failed to load needs no close.
    const actor = await loading.catch(() => undefined);
    if (this.#ready.get(id) === actor) this.#ready.delete(id);
    await actor?.close();
  }

  async #keep(id: ChannelId, loading: Promise<ChannelActor>): Promise<ChannelActor> {
    this.#actors.set(id, loading);
    try {
      return await loading;
    } catch (error) {
      // The actor may have been dropped meanwhile, and another one loaded.
      if (this.#actors.get(id) === loading) this.#actors.delete(id);
      throw error;
    }
  }

  /** @param absent stands in if no adapter can deliver to the channel; undefined: such a channel is not loaded */
  async #load(id: ChannelId, absent: AbsentPlatform | undefined): Promise<ChannelActor> {
    // Waits for the close of the previous actor: two would deliver the same answer.
    await this.#closing.get(id);
    const loaded = await this.#parts.loader.load(id, absent);
    const { actor, made } = loaded;
    if (made === null) this.#visited.add(actor);
    this.#ready.set(id, actor);
    this.#parts.onLoaded(id, loaded);
    return actor;
  }

  /** Waits for running work until the signal, then ends it. Unfinished work stays in the log. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#isClosed = true;
    const actors = (await Promise.allSettled(this.#actors.values())).flatMap((result) =>
      result.status === "fulfilled" ? [result.value] : [],
    );
    await unlessAborted(Promise.all(actors.map(async (actor) => actor.idle())), deadline);
    await Promise.all(actors.map(async (actor) => actor.close()));
    await Promise.all(this.#closing.values());
    this.#actors.clear();
    this.#ready.clear();
  }
}
