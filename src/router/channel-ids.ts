import { BoundedMap } from "../async/bounded-map.ts";
import type { ChannelHomes } from "../ownership/channel-homes.ts";
import { type ChannelAddress, type ChannelId, formatAddress } from "../core/ids.ts";
import type { ChannelOnPlatform } from "../core/message.ts";
import type { Store } from "../store/store.ts";
import type { Binding } from "./bindings.ts";

/** Channels whose id is remembered; the ids of others are read again. */
const MAX_KNOWN = 10_000;

/** The log's ids of channels, remembered so that a message costs one statement and not two. */
export class ChannelIds {
  readonly #channels: Pick<Store["channels"], "open">;
  readonly #homes: Pick<ChannelHomes, "place">;
  /** By {@link channelKey}. */
  readonly #known = new BoundedMap<{ readonly id: ChannelId; readonly isPrivate: boolean | undefined }>(
    MAX_KNOWN,
  );
  /** Look-ups in flight: other callers wait for the same look-up, so no message overtakes another. */
  readonly #opening = new Map<string, Promise<ChannelId>>();

  /** @param homes gets the address of each channel with its id */
  constructor(channels: Pick<Store["channels"], "open">, homes: Pick<ChannelHomes, "place">) {
    this.#channels = channels;
    this.#homes = homes;
  }

  /** The bindings have changed: each channel's settings are written again with its next message. */
  forget(): void {
    this.#known.clear();
  }

  /** @returns undefined if not remembered */
  known(key: string): ChannelId | undefined {
    return this.#known.get(key)?.id;
  }

  /** The id of a channel; the log opens the channel if it does not have it yet. */
  async of(where: ChannelOnPlatform, binding: Binding): Promise<ChannelId> {
    const key = channelKey(binding, where.channel);
    const known = this.#known.get(key);
    const isTold = where.isPrivate === undefined || where.isPrivate === known?.isPrivate;
    if (known !== undefined && isTold) return known.id;
    const opening = this.#opening.get(key) ?? this.#open(key, where, binding);
    this.#opening.set(key, opening);
    return opening;
  }

  async #open(
    key: string,
    { kind, workspace, channel: address, place, isPrivate }: ChannelOnPlatform,
    { agent, sharesMemory }: Binding,
  ): Promise<ChannelId> {
    try {
      const id = await this.#channels.open({
        address,
        kind,
        workspace,
        place,
        isPrivate,
        agent,
        sharesMemory,
      });
      this.#known.set(key, { id, isPrivate });
      this.#homes.place(id, address);
      return id;
    } finally {
      this.#opening.delete(key);
    }
  }
}

/** A channel and the agent that answers it. */
export function channelKey({ agent }: Binding, channel: ChannelAddress): string {
  return `${agent}\n${formatAddress(channel)}`;
}
