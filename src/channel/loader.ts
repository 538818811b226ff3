import PQueue from "p-queue";
import type { Summariser } from "../compactor/summariser.ts";
import { steadyNow } from "../async/clock.ts";
import { type ChannelAddress, type ChannelId, formatAddress } from "../core/ids.ts";
import type { Platform } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { ChannelSnapshot } from "../store/channels/snapshot.ts";
import { StalePartitionError } from "../store/database/errors.ts";
import type { Agent } from "../turn/agent.ts";
import { ChannelActor } from "./actor.ts";
import type { SharedParts } from "./channel-context.ts";
import { type ChannelHomes, NotHomeError } from "../ownership/channel-homes.ts";
import { type Guests, NO_GUESTS } from "./guests.ts";
import type { Partition } from "../ownership/homes.ts";

/** No adapter of this process delivers to the channel: its due work is left alone. */
export class NotServedError extends Error {}

/** The agents of channels by the current configuration. */
export interface Staffing {
  /** The channel's agent and its compactor, by the row. Returns identical objects while neither changes. */
  agentOf(channel: ChannelRow): {
    readonly agent: Agent;
    readonly compactorAgent: Summariser;
    /** Default: no other agent answers there. */
    readonly guests?: Guests;
  };
  streams(channel: ChannelRow): boolean;
}

/** The agents for which an actor was built. */
export interface Made {
  readonly channel: ChannelRow;
  readonly staffed: ReturnType<Staffing["agentOf"]>;
  readonly streams: boolean;
}

export interface LoadedActor {
  readonly actor: ChannelActor;
  /** Null: no adapter can deliver to its channel. */
  readonly made: Made | null;
  /** Reports the actor, and resumes unfinished work by the log. Call it once, when the registry has the actor. */
  readonly begin: () => void;
}

export interface ActorLoaderParts extends SharedParts, Staffing {
  readonly homes: ChannelHomes;
  /** The adapter that can deliver to a channel now; undefined: there is none. */
  readonly platformOf: (address: ChannelAddress) => Platform | undefined;
  /** Another daemon has taken a channel with an actor here. */
  readonly onLost: (id: ChannelId) => void;
  /** Another daemon has taken partitions, and a refused request revealed it. */
  readonly onPartitionsLost: (partitions: ReadonlySet<Partition>) => void;
}

/**
 * Logs that are read at once. Each takes a connection for about ten statements: with hundreds of new threads, every other
 * channel's statements would wait for a connection after all of theirs.
 */
const READ_AT_ONCE = 4;

/** Builds actors from the log. A channel without an actor costs one number: the epoch with which this daemon took it. */
export class ActorLoader {
  readonly #parts: ActorLoaderParts;
  readonly #epochs = new Map<ChannelId, number>();
  readonly #reads = new PQueue({ concurrency: READ_AT_ONCE });

  constructor(parts: ActorLoaderParts) {
    this.#parts = parts;
  }

  /** Call it when partitions are lost: the epochs of their channels are outdated. */
  forgetEpochs(partitions: ReadonlySet<Partition>): void {
    for (const id of this.#epochs.keys()) if (this.#parts.homes.isIn(id, partitions)) this.#epochs.delete(id);
  }

  /**
   * Takes a channel and reads its log.
   * @param absent stands in if no adapter can deliver to the channel; undefined: such a channel is not loaded
   * @throws NotHomeError if another daemon is home of the channel, NotServedError, WeirError if the log could not be read
   */
  async load(id: ChannelId, absent: Platform | undefined): Promise<LoadedActor> {
    const { homes, features, events } = this.#parts;
    const startedAt = steadyNow();
    const { epoch, snapshot } = await this.#read(id);
    const { channel } = snapshot;
    const { address, kind, workspace, place } = channel;
    const platform = this.#parts.platformOf(address) ?? absent;
    if (platform === undefined) throw new NotServedError(`no adapter speaks for ${formatAddress(address)}`);
    const staffed = this.#parts.agentOf(channel);
    const streams = this.#parts.streams(channel);
    const parts = {
      ...this.#parts,
      owner: { channel: id, epoch },
      address,
      kind,
      workspace,
      place,
      guests: NO_GUESTS,
      ...staffed,
      platform,
      streams,
      onLost: (): void => {
        this.#epochs.delete(id);
        this.#parts.onLost(id);
      },
    };
    const actor = new ChannelActor(parts, snapshot);
    const isServed = platform !== absent;
    if (isServed) await actor.recover();
    if (!homes.holds(id)) {
      await actor.close();
      throw new NotHomeError(`channel ${id} was handed on while it was loaded`);
    }
    const begin = (): void => {
      const { entries } = snapshot.history;
      const ms = Math.round(steadyNow() - startedAt);
      events.emit({ type: "channel_loaded", channel: formatAddress(address), entries: entries.length, ms });
      if (!isServed) return;
      if (snapshot.hasOpenWork) features.background.takeUp(parts, snapshot.history);
      actor.wake();
    };
    return { actor, made: isServed ? { channel, staffed, streams } : null, begin };
  }

  async #read(id: ChannelId): Promise<{ readonly epoch: number; readonly snapshot: ChannelSnapshot }> {
    const { homes, store } = this.#parts;
    const partitionEpoch = await homes.epochOf(id);
    return this.#reads.add(async () => {
      const known = this.#epochs.get(id);
      const epoch = known ?? (await this.#take(id, partitionEpoch));
      const snapshot = await store.load(id);
      if (known === undefined || snapshot.channel.epoch === known) return { epoch, snapshot };
      // Another daemon has taken the channel since it was last used here.
      return { epoch: await this.#take(id, partitionEpoch), snapshot: await store.load(id) };
    });
  }

  /** @throws NotHomeError if another daemon has taken the channel's partition, reported or not */
  async #take(id: ChannelId, partitionEpoch: number | null): Promise<number> {
    const { homes, store } = this.#parts;
    try {
      const epoch = await store.channels.take(id, partitionEpoch);
      this.#epochs.set(id, epoch);
      return epoch;
    } catch (error) {
      if (!(error instanceof StalePartitionError)) throw error;
      this.#parts.onPartitionsLost(homes.releaseOf(id, partitionEpoch));
      throw new NotHomeError(error.message, { cause: error });
    }
  }
}
