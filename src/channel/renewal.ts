import { setImmediate as immediately } from "node:timers/promises";
import type { AgentId, ChannelId } from "../core/ids.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { PartitionStore } from "../store/channels/partitions.ts";
import type { ChannelActor } from "./actor.ts";
import type { Made, Staffing } from "./loader.ts";
import { type ChannelHomes, NotHomeError } from "./homes/channel-homes.ts";
import type { ChannelRegistry } from "./registry.ts";
import type { SubagentDesk } from "./subagents/subagent-desk.ts";

export interface RenewalParts extends Staffing {
  readonly registry: ChannelRegistry;
  readonly homes: Pick<ChannelHomes, "isElsewhere" | "wake">;
  readonly partitions: Pick<PartitionStore, "changed">;
  /** Default: there are none. */
  readonly subagents?: SubagentDesk | undefined;
  /** Loads and wakes a channel's actor. Must not throw. */
  readonly wake: (id: ChannelId) => Promise<void>;
}

/**
 * Who answers a channel may be another by now: by a reload, its binding, or a model that somebody has chosen. An actor of which that is
 * so makes way: the turn that runs goes on to its end with what it began with, and the next one is the next actor's.
 */
export class Renewal {
  readonly #parts: RenewalParts;
  /** What each actor was made of. */
  readonly #made = new WeakMap<ChannelActor, Made>();
  /** Each resolves when an actor that had to make way has ended. */
  readonly #replacing = new Set<Promise<void>>();
  /** Channels that had something to do while their actor made way: the next one is loaded for it. */
  readonly #owed = new Set<ChannelId>();

  constructor(parts: RenewalParts) {
    this.#parts = parts;
  }

  /** An actor is in memory from now on. Who answers may have changed while it was loaded. */
  loaded(id: ChannelId, actor: ChannelActor, made: Made): void {
    this.#made.set(actor, made);
    if (this.#isOutdated(actor)) this.#replace(id, actor);
  }

  /** There is something to do in a channel: where its actor makes way, the next one is loaded for it. */
  owe(id: ChannelId): void {
    if (this.#parts.registry.loaded(id)?.isLeaving === true) this.#owed.add(id);
  }

  /**
   * The configuration in force is another. Resolves when nobody is at work any more who began before: actors that make way, since
   * whatever reload, and subagents. Must not throw.
   */
  async renew(): Promise<void> {
    const { registry, subagents } = this.#parts;
    for (const [id, actor] of registry.all()) if (this.#isOutdated(actor)) this.#replace(id, actor);
    // One that is being loaded finds out by itself that it is outdated.
    await Promise.allSettled(registry.begun().map(async ([, loading]) => loading));
    await Promise.all(this.#replacing);
    // Last: a turn that has just ended may have begun some.
    await subagents?.atWork();
  }

  /** A channel is another agent's by its binding: its actor, if there is one, makes way for that agent's. Returns at once. */
  follow(id: ChannelId, agent: AgentId): void {
    const actor = this.#parts.registry.loaded(id);
    if (actor === undefined || actor.isLeaving || !this.#made.has(actor)) return;
    if (actor.agent.config.id === agent) return;
    this.#replace(id, actor);
  }

  /**
   * Another model was chosen for a channel: its actor makes way for one that answers with it, here, also where another daemon had the
   * channel; in a cluster, at its home. Returns once it is under way.
   * @param row as it is now
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
   * Looks at what other daemons have changed in channels that are in memory, and does what a wake would have had done: another agent or
   * model answers, or a running turn has read what is gone.
   * @param only default: all of them
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

  /** A channel's row reads otherwise now: its actor makes way if another answers by it. Returns at once. */
  #noteRow(actor: ChannelActor, row: ChannelRow): void {
    const made = this.#made.get(actor);
    if (made !== undefined) this.#made.set(actor, { ...made, channel: row });
    if (!this.#isOutdated(actor)) return;
    // The next one is loaded also where nothing is due: its window may be too full by now.
    this.#owed.add(row.id);
    this.#replace(row.id, actor);
  }

  #isOutdated(actor: ChannelActor): boolean {
    const made = this.#made.get(actor);
    if (made === undefined || actor.isLeaving) return false;
    const { channel, staffed, streams } = made;
    return this.#parts.agentOf(channel) !== staffed || this.#parts.streams(channel) !== streams;
  }

  /** Returns at once; it begins nothing any more. */
  #replace(id: ChannelId, actor: ChannelActor): void {
    const replaced = this.#makeWay(id, actor).finally(() => this.#replacing.delete(replaced));
    this.#replacing.add(replaced);
  }

  /** Must not throw. */
  async #makeWay(id: ChannelId, actor: ChannelActor): Promise<void> {
    const { registry, wake } = this.#parts;
    await actor.leave();
    // Whoever was given this actor just now uses it first.
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
