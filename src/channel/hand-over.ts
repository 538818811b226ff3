import { setImmediate as immediately } from "node:timers/promises";
import { unlessAborted } from "../async/deadline.ts";
import type { ChannelId } from "../core/ids.ts";
import type { ChannelActor } from "./actor.ts";
import type { ActorLoader } from "./loader.ts";
import type { ChannelHomes } from "../ownership/channel-homes.ts";
import type { Partition } from "../ownership/homes.ts";
import type { ChannelRegistry } from "./registry.ts";
import type { BackgroundWork } from "./channel-context.ts";

export interface HandOverParts {
  readonly registry: Pick<ChannelRegistry, "begun" | "has" | "end">;
  readonly loader: Pick<ActorLoader, "forgetEpochs">;
  readonly homes: Pick<ChannelHomes, "isIn">;
  readonly background: Pick<BackgroundWork, "leave">;
}

/** Ends the actors of partitions that move to another daemon: after their running work, or at once. */
export class HandOver {
  readonly #parts: HandOverParts;

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  /**
   * Ends the actors of released partitions: they begin no turn. Resolves when running work has ended, at the latest at the deadline,
   * and the actors are closed. Must not throw.
   */
  async handOn(partitions: ReadonlySet<Partition>, deadline: AbortSignal): Promise<void> {
    const leaving = this.#actorsIn(partitions).map(async ([id, loading]) => {
      const actor = await loading.catch(() => undefined);
      if (actor !== undefined) await unlessAborted(actor.leave(), deadline);
      // Callers that received an actor in this tick use it first.
      await immediately();
      await this.#end(id, loading);
    });
    // First: a turn that waits for such work learns that it continues elsewhere.
    await this.#leaveWork(partitions);
    await Promise.all(leaving);
    this.#parts.loader.forgetEpochs(partitions);
  }

  /** Ends the actors of lost partitions without waiting for their work. Returns at once. */
  drop(partitions: ReadonlySet<Partition>): void {
    for (const [id, loading] of this.#actorsIn(partitions)) void this.#end(id, loading);
    void this.#leaveWork(partitions);
    this.#parts.loader.forgetEpochs(partitions);
  }

  #actorsIn(partitions: ReadonlySet<Partition>): (readonly [ChannelId, Promise<ChannelActor>])[] {
    return this.#parts.registry.begun().filter(([id]) => this.#parts.homes.isIn(id, partitions));
  }

  async #leaveWork(partitions: ReadonlySet<Partition>): Promise<void> {
    await this.#parts.background.leave((id) => this.#parts.homes.isIn(id, partitions));
  }

  /** Must not throw. */
  async #end(id: ChannelId, loading: Promise<ChannelActor>): Promise<void> {
    const { registry, background } = this.#parts;
    await registry.end(id, loading);
    // The actor's last turn may have begun some.
    await background.leave((one) => one === id && !registry.has(id));
  }
}
