import type { ChannelRegistry } from "../channel/registry.ts";
import type { Waker } from "../channel/waker.ts";
import type { Absence } from "../core/entry.ts";
import type { GatewayPlace, KeptSession } from "../core/gateway.ts";
import type { ChannelAddress } from "../core/ids.ts";
import type { ChannelOnPlatform, ChannelRename, GapStep, InboundMessage } from "../core/message.ts";
import type { CatchUpLedger, ChannelPolicy, Gap } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { GapRow } from "../store/channels/gaps.ts";
import type { Store } from "../store/store.ts";
import { type Binding, refusal } from "./bindings.ts";
import type { FindLetIn } from "./strangers.ts";
import { type ChannelIds, channelKey } from "./channel-ids.ts";
import { retryWrite } from "../async/retry.ts";
import { blame } from "./storable-event.ts";

export interface BindingLedgerOptions {
  readonly store: Pick<Store, "channels" | "gaps" | "watermarks" | "gatewaySessions" | "channelRenames">;
  readonly registry: Pick<ChannelRegistry, "loaded">;
  readonly waker: Pick<Waker, "mention">;
  readonly channelIds: ChannelIds;
  readonly bindingOf: (where: ChannelOnPlatform) => Binding | undefined;
  readonly findLetIn: FindLetIn;
}

/** Limit of channels listed per platform, besides those with a recorded gap. */
const MAX_GAPS = 2000;

/** Answers the adapters from the database. A channel that no binding answers has no gap. */
export class BindingLedger implements CatchUpLedger {
  readonly #options: BindingLedgerOptions;

  constructor(options: BindingLedgerOptions) {
    this.#options = options;
  }

  refuses(message: InboundMessage): boolean {
    const binding = this.#options.bindingOf(message);
    return binding === undefined || refusal(binding, message, this.#options.findLetIn) !== null;
  }

  async policyOf(channel: ChannelOnPlatform): Promise<ChannelPolicy> {
    const binding = this.#options.bindingOf(channel);
    if (binding === undefined) return { isBound: false, listens: false, answersAll: false, isKnown: false };
    const isWanted = binding.listen || channel.kind === "thread";
    const known = isWanted ? await this.#row(channel) : undefined;
    const { listen: listens, mentionRequired } = binding;
    return { isBound: true, listens, answersAll: !mentionRequired, isKnown: (known?.lastSeq ?? 0) > 0 };
  }

  async openGaps(platform: string, which: "all" | "recorded" = "all"): Promise<readonly Gap[]> {
    const rows = await this.#options.store.gaps.all(platform, which === "all" ? MAX_GAPS : 0);
    return rows.flatMap((row) => this.#gap(row) ?? []);
  }

  async gapOf(channel: ChannelAddress): Promise<Gap | null> {
    const row = await this.#options.store.gaps.of(channel);
    return row === undefined ? null : this.#gap(row);
  }

  /** @returns null: no binding answers the channel */
  #gap({ address: channel, kind, workspace, place, afterId, isOnRecord }: GapRow): Gap | null {
    const where = { channel, kind, workspace, ...(place !== null && { place }) };
    const binding = this.#options.bindingOf(where);
    if (binding === undefined) return null;
    const isSparse = !isOnRecord && kind === "channel" && !binding.listen && binding.mentionRequired;
    return { ...where, afterId, ...(isSparse && { isSparse }) };
  }

  /** Also opens a channel that the log does not have: a later event in the log would hide the gap. */
  async keepGap({ channel: address, kind, workspace, place, afterId }: Gap): Promise<void> {
    const where = { channel: address, kind, workspace, ...(place !== undefined && { place }) };
    const binding = this.#options.bindingOf(where);
    if (binding === undefined) return;
    const { agent } = binding;
    await this.#options.store.gaps.keep({ address, kind, workspace, place, agent }, afterId);
  }

  async advanceGap(channel: ChannelAddress, step: GapStep): Promise<void> {
    await this.#options.store.gaps.advance(channel, step);
  }

  async closeGap(channel: ChannelAddress): Promise<void> {
    await this.#options.store.gaps.close(channel);
  }

  /** Also opens a channel that the log does not have yet. */
  async noteAbsence(where: ChannelOnPlatform, key: string, absence: Absence): Promise<void> {
    const { store, waker, channelIds, bindingOf } = this.#options;
    const binding = bindingOf(where);
    if (binding === undefined) return;
    const { result } = await retryWrite(async () => {
      const id = await channelIds.of(where, binding);
      return { id, seq: await store.gaps.noteAbsence(id, key, absence, new Date()) };
    });
    await waker.mention(result.id, result.seq);
  }

  async hasMessage({ platform, name }: ChannelAddress, id: string): Promise<boolean> {
    const rows = await this.#options.store.channels.withMessage(platform, id);
    return rows.some(({ address }) => address.name === name);
  }

  async newestMessageIds(channel: ChannelAddress, limit: number): Promise<readonly string[]> {
    return this.#options.store.channels.held(channel, limit);
  }

  isCrowded(where: ChannelOnPlatform): boolean {
    const { registry, channelIds, bindingOf } = this.#options;
    const binding = bindingOf(where);
    const id = binding === undefined ? undefined : channelIds.known(channelKey(binding, where.channel));
    return id !== undefined && registry.loaded(id)?.compactor.isMakingRoom === true;
  }

  async watermark(platform: string, account: string): Promise<Date | null> {
    return this.#options.store.watermarks.read(platform, account);
  }

  async moveWatermark(platform: string, account: string, to: Date): Promise<void> {
    await this.#options.store.watermarks.move(platform, account, to);
  }

  async channelRenames(platform: string): Promise<readonly ChannelRename[]> {
    return this.#options.store.channelRenames.all(platform);
  }

  async renameChannel(platform: string, from: string, to: string): Promise<void> {
    await retryWrite(async () => this.#options.store.channelRenames.note(platform, from, to));
  }

  async keptSession(platform: string, shard: number): Promise<KeptSession | null> {
    return (await this.#options.store.gatewaySessions.read(platform, shard)) ?? null;
  }

  async keepSession(platform: string, place: GatewayPlace, epoch: number | null): Promise<boolean> {
    return this.#options.store.gatewaySessions.keep(platform, place, epoch);
  }

  async #row({ channel }: ChannelOnPlatform): Promise<ChannelRow | undefined> {
    try {
      return await this.#options.store.channels.find(channel);
    } catch (error) {
      throw blame("channel", error);
    }
  }
}
