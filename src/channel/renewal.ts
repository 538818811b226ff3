import { setImmediate as immediately } from "node:timers/promises";
import type { AgentId, ChannelId } from "../core/ids.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { PartitionStore } from "../store/channels/partitions.ts";
import type { ChannelActor } from "./actor.ts";
import type { Made, Staffing } from "./loader.ts";
import { type ChannelHomes, NotHomeError } from "../ownership/channel-homes.ts";
import type { ChannelRegistry } from "./registry.ts";
import type { BackgroundWork } from "./channel-context.ts";

export interface RenewalParts extends Staffing {
  readonly registry: ChannelRegistry;
  readonly homes: Pick<ChannelHomes, "isElsewhere" | "wake">;
  readonly partitions: Pick<PartitionStore, "changed">;
  readonly background: Pick<BackgroundWork, "idle">;
  /** Loads and wakes a channel's actor. Must not throw. */
  readonly wake: (id: ChannelId) => Promise<void>;
}

/**
 * Replaces an actor whose agent or model changed by a reload, a binding or a command. Its running turn finishes first, unchanged; the
 * next turn runs in the next actor.
 */
export class Renewal {
  readonly #parts: RenewalParts;
  readonly #made = new WeakMap<ChannelActor, Made>();
  /** Running replacements; each resolves when the old actor is closed. */
  readonly #replacing = new Set<Promise<void>>();
  /** Channels with work that came during a replacement: their next actor is loaded at once. */
  readonly #owed = new Set<ChannelId>();

  constructor(parts: RenewalParts) {
    this.#parts = parts;
  }

  /** Call it with each new actor: its agent may have changed during the load. */
  loaded(id: ChannelId, actor: ChannelActor, made: Made): void {
    this.#made.set(actor, made);
    if (this.#isOutdated(actor)) this.#replace(id, actor);
  }

  /** Reports work in a channel: if its actor is being replaced, the next one is loaded at once. */
  owe(id: ChannelId): void {
    if (this.#parts.registry.loaded(id)?.isLeaving === true) this.#owed.add(id);
  }

  /**
   * Call it when the configuration has changed. Resolves when all outdated actors, of earlier reloads too, and the earlier work of
   * features have ended. Must not throw.
   */
  async renew(): Promise<void> {
    const { registry, background } = this.#parts;
    for (const [id, actor] of registry.all()) if (this.#isOutdated(actor)) this.#replace(id, actor);
    // Actors that are being loaded are checked by `loaded`.
    await Promise.allSettled(registry.begun().map(async ([, loading]) => loading));
    await Promise.all(this.#replacing);
    // Last: a turn that has just ended may have begun some.
    await background.idle();
  }

  /** A binding gives a channel to another agent: replaces its actor, if loaded. Returns at once. */
  follow(id: ChannelId, agent: AgentId): void {
    const actor = this.#parts.registry.loaded(id);
    if (actor === undefined || actor.isLeaving || !this.#made.has(actor)) return;
    if (actor.agent.config.id === agent) return;
    this.#replace(id, actor);
  }

  /**
   * Another model was chosen for a channel: replaces its actor here, even if another daemon had the channel; in a cluster, at its
   * home. Returns once the replacement is under way.
   * @param row the current one
   * @throws WeirError if the log could not be read
   */
  async restaff(row: ChannelRow): Promise<void> {
    const { registry, homes } = this.#parts;
    if (await homes.isElsewhere(row.id)) return homes.wake(row.id, 0);
    let actor: ChannelActor;
    try {
      actor = await registry.get(row.id);
    } catch (error) {
      if (!(error instanceof NotHomeError)) throw error;
      // Its next home reads the row.
      return homes.wake(row.id, 0);
    }
    this.#noteRow(actor, row);
  }

  /**
   * Finds changes by other daemons in loaded channels, and acts as a wake would: replaces actors whose agent or model changed, and
   * restarts turns that have read a deleted text.
   * @param only default: all loaded channels
   * @throws WeirError if that cannot be read
   */
  async review(only?: ChannelId): Promise<void> {
    const { registry, partitions } = this.#parts;
    const known = registry.all().flatMap(([id, actor]) => {
      const made = this.#made.get(actor);
      if (made === undefined || (only !== undefined && id !== only)) return [];
      return { channel: made.channel, changes: actor.changesKnown };
    });
    if (known.length === 0) return;
    for (const row of await partitions.changed(known)) {
      const actor = registry.loaded(row.id);
      if (actor === undefined || !this.#made.has(actor)) continue;
      this.#noteRow(actor, row);
      actor.look(0);
    }
  }

  /** A channel's row has changed: replaces its actor if the agent or model did. Returns at once. */
  #noteRow(actor: ChannelActor, row: ChannelRow): void {
    const made = this.#made.get(actor);
    if (made !== undefined) this.#made.set(actor, { ...made, channel: row });
    if (!this.#isOutdated(actor)) return;
    // Loads the next actor even without due work: the new model's window may be too full.
    this.#owed.add(row.id);
    this.#replace(row.id, actor);
  }

  #isOutdated(actor: ChannelActor): boolean {
    const made = this.#made.get(actor);
    if (made === undefined || actor.isLeaving) return false;
    const { channel, staffed, streams } = made;
    return this.#parts.agentOf(channel) !== staffed || this.#parts.streams(channel) !== streams;
  }

  /** Returns at once; the old actor begins nothing. */
  #replace(id: ChannelId, actor: ChannelActor): void {
    const replaced = this.#makeWay(id, actor).finally(() => this.#replacing.delete(replaced));
    this.#replacing.add(replaced);
  }

  /** Must not throw. */
  async #makeWay(id: ChannelId, actor: ChannelActor): Promise<void> {
    const { registry, wake } = this.#parts;
    await actor.leave();
    // Callers that received the actor in this tick use it first.
    await immediately();
    const isOwed = this.#owed.delete(id);
    // Evicted, lost or drained meanwhile.
    if (registry.isClosed || registry.loaded(id) !== actor) return;
    const hasWork = actor.hasWork || isOwed;
    registry.forget(id);
    await registry.end(id, Promise.resolve(actor));
    if (hasWork && !registry.isClosed) await wake(id);
  }
}
