import type { Logger } from "pino";
import type { ChannelRegistry } from "../channel/registry.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import type { Absence } from "../core/entry.ts";
import { type AgentId, type ChannelAddress, type ChannelId, formatAddress } from "../core/ids.ts";
import type {
  ChannelOnPlatform,
  InboundChannelDeletion,
  InboundEvent,
  InboundImage,
  InboundMessage,
  Receipt,
} from "../core/message.ts";
import type { Gap, GapStep, InboundCommand, PlatformInbox, Standing } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels.ts";
import type { Digester } from "../store/extracts.ts";
import type { GapRow } from "../store/gaps.ts";
import type { Store } from "../store/store.ts";
import type { Events } from "../telemetry/events.ts";
import type { AskLimits } from "./ask-limits.ts";
import { type Binding, findBinding, refusal, rule } from "./bindings.ts";
import { Changes } from "./changes.ts";
import { Erasures } from "./erasures.ts";
import { insist } from "./insist.ts";
import { assertStorable } from "./storable-event.ts";
import { type Commands, TextCommands } from "./text-commands.ts";
import type { Voice } from "./voice.ts";

export interface RouterParts {
  readonly store: Store;
  readonly registry: ChannelRegistry;
  readonly events: Events;
  readonly log: Logger;
  readonly bindings: readonly Binding[];
  /** Makes the extract that stands in for a summary with a deleted text in it. */
  readonly digesterOf: (channel: ChannelRow) => Digester;
  /** Runs what people ask with a slash; it answers the asker alone. */
  readonly commands: Commands;
  readonly limits: AskLimits;
  /** Whether an agent is shown pictures: for the others none are kept. */
  readonly seesImages: (agent: AgentId) => boolean;
  readonly voice: Voice;
  /** The one sentence for a person whose wish is not fulfilled. */
  readonly failureText: (kind: "too_often" | "internal") => string;
}

/** Channels whose id is remembered; others of which something is. */
const KNOWN_CHANNELS = 10_000;
/** Channels of a platform whose gaps are looked for. */
const MAX_GAPS = 2000;

/**
 * Finds who answers an event, appends it to the log, and only then wakes its channel: the log is the inbox, and
 * whatever fails behind it is taken up again from there.
 */
export class Router implements PlatformInbox {
  readonly #parts: RouterParts;
  /** Ids by address and agent, so that a message costs one statement and not two. */
  readonly #known = new BoundedMap<ChannelId>(KNOWN_CHANNELS);
  /** Threads that the agent takes part in. */
  readonly #threads = new BoundedMap<true>(KNOWN_CHANNELS);
  /** Channels that nobody answers, of which the log knows. */
  readonly #unbound = new BoundedMap<true>(KNOWN_CHANNELS);
  readonly #commands: TextCommands;
  readonly #changes: Changes;
  /** Takes back what was said in channels that were deleted; to be begun once at the start, and disposed of. */
  readonly erasures: Erasures;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.#commands = new TextCommands(parts);
    this.#changes = new Changes(parts);
    this.erasures = new Erasures(parts);
  }

  async receive(event: InboundEvent): Promise<Receipt> {
    assertStorable(event);
    switch (event.type) {
      case "message":
        return this.#message(event);
      case "edit":
        return this.#changes.edit(event);
      case "deletion":
        return this.#changes.delete(event);
      case "channel_deletion":
        return this.#deleteChannel(event);
    }
  }

  async command(command: InboundCommand): Promise<string> {
    return this.#parts.commands.run(command);
  }

  refuses(message: InboundMessage): boolean {
    const binding = findBinding(this.#parts.bindings, message);
    return binding === undefined || refusal(binding, message) !== null;
  }

  async standing(channel: ChannelOnPlatform): Promise<Standing> {
    const binding = findBinding(this.#parts.bindings, channel);
    if (binding === undefined) return { isBound: false, listens: false, answersAll: false, isKnown: false };
    const isWanted = binding.listen || channel.kind === "thread";
    const known = isWanted ? await this.#parts.store.channels.find(channel.channel) : undefined;
    const { listen: listens, mentionRequired } = binding;
    return { isBound: true, listens, answersAll: !mentionRequired, isKnown: (known?.lastSeq ?? 0) > 0 };
  }

  async openGaps(platform: string): Promise<readonly Gap[]> {
    const rows = await this.#parts.store.gaps.all(platform, MAX_GAPS);
    return rows.flatMap((row) => this.#gap(row) ?? []);
  }

  async gapOf(channel: ChannelAddress): Promise<Gap | null> {
    const row = await this.#parts.store.gaps.of(channel);
    return row === undefined ? null : this.#gap(row);
  }

  /** Null: nobody answers there. */
  #gap({ address: channel, kind, workspace, place, afterId, isOnRecord }: GapRow): Gap | null {
    const where = { channel, kind, workspace, ...(place !== null && { place }) };
    const binding = findBinding(this.#parts.bindings, where);
    if (binding === undefined) return null;
    const isSparse = !isOnRecord && kind === "channel" && !binding.listen && binding.mentionRequired;
    return { ...where, afterId, ...(isSparse && { isSparse }) };
  }

  /** Also of a channel that the log has nothing of: once a later event is there, nobody would look before it. */
  async keepGap({ channel: address, kind, workspace, place, afterId }: Gap): Promise<void> {
    const where = { channel: address, kind, workspace, ...(place !== undefined && { place }) };
    const binding = findBinding(this.#parts.bindings, where);
    if (binding === undefined) return;
    const { agent } = binding;
    await this.#parts.store.gaps.keep({ address, kind, workspace, place, agent }, afterId);
  }

  async advanceGap(channel: ChannelAddress, step: GapStep): Promise<void> {
    await this.#parts.store.gaps.advance(channel, step);
  }

  /** Also of a channel that the log has nothing of yet. */
  async noteAbsence(where: ChannelOnPlatform, key: string, absence: Absence): Promise<void> {
    const { bindings, store, registry } = this.#parts;
    const binding = findBinding(bindings, where);
    if (binding === undefined) return;
    const { result } = await insist(async () => {
      const id = await this.#channelId(where, binding);
      return { id, seq: await store.gaps.noteAbsence(id, key, absence, new Date()) };
    });
    await registry.mention(result.id, result.seq);
  }

  async knows({ platform, name }: ChannelAddress, id: string): Promise<boolean> {
    const rows = await this.#parts.store.channels.withMessage(platform, id);
    return rows.some(({ address }) => address.name === name);
  }

  isCrowded(where: ChannelOnPlatform): boolean {
    const binding = findBinding(this.#parts.bindings, where);
    const id = binding === undefined ? undefined : this.#known.get(channelKey(binding, where.channel));
    return id !== undefined && this.#parts.registry.loaded(id)?.compactor.isMakingRoom === true;
  }

  async closeGap(channel: ChannelAddress): Promise<void> {
    await this.#parts.store.gaps.close(channel);
  }

  async heardTo(platform: string, account: string): Promise<Date | null> {
    return this.#parts.store.heardMarks.read(platform, account);
  }

  async setHeardTo(platform: string, account: string, at: Date): Promise<void> {
    await this.#parts.store.heardMarks.move(platform, account, at);
  }

  async held(channel: ChannelAddress, limit: number): Promise<readonly string[]> {
    return this.#parts.store.channels.held(channel, limit);
  }

  async #message(message: InboundMessage): Promise<Receipt> {
    const { bindings } = this.#parts;
    const binding = findBinding(bindings, message);
    if (binding === undefined) {
      this.#tellUnbound(formatAddress(message.channel));
      return { outcome: "unbound" };
    }
    const takesPart = await this.#takesPart(binding, message);
    const ruling = rule(binding, message, takesPart);
    if (ruling.outcome === "ignored") {
      this.#parts.log.debug({ channel: formatAddress(message.channel), why: ruling.why }, "message_ignored");
      return { outcome: "ignored" };
    }
    if (await this.#wasTakenBack(message)) return { outcome: "ignored" };
    if (message.isBackground === true && this.#wasCommand(binding, message, takesPart))
      return { outcome: "ignored" };
    const isAsked = ruling.outcome === "turn";
    const isWithinRate = (): boolean => this.#isWithinRate(binding, message);
    if (isAsked && (await this.#commands.run(message, isWithinRate))) return { outcome: "command" };
    const addressed = this.#withinLimits(binding, message, isAsked);
    const id = await this.#changes.idOf(message);
    return this.#append({ ...message, id, addressed }, binding);
  }

  async #append(message: InboundMessage, binding: Binding): Promise<Receipt> {
    const { store, registry, events, voice } = this.#parts;
    const channel = formatAddress(message.channel);
    const { result: appended, isRepeated } = await insist(async () => {
      const id = await this.#channelId(message, binding);
      // Before the message: its turn may begin at once.
      if (message.images !== undefined && this.#parts.seesImages(binding.agent))
        await this.#keepImages(message, message.images);
      const beginner = message.addressed ? registry.expect(id, message.text) : null;
      return { id, ...(await store.log.appendMessage(id, message, beginner)) };
    });
    const { id, seq } = appended;
    // A duplicate that is still due may be what an attempt of ours, or an earlier delivery, committed without hearing of it.
    if (appended.duplicate && appended.due) void registry.remind(id, seq);
    else if (appended.duplicate && isRepeated) void registry.mention(id, seq);
    if (appended.duplicate && !(appended.due && isRepeated)) return { outcome: "duplicate", seq };
    const { id: messageId, addressed } = message;
    events.emit({ type: "message_accepted", channel, seq, messageId, addressed });
    if (addressed && binding.acknowledge !== "")
      voice.acknowledge(message.channel, messageId, binding.acknowledge);
    if (!appended.duplicate) void registry.notify(id, appended.entry, appended.turn);
    return { outcome: "accepted", seq };
  }

  /** A message that was taken back may be delivered again, and its pictures are gone for good. */
  async #keepImages({ channel, id }: InboundMessage, images: readonly InboundImage[]): Promise<void> {
    const { channels, attached } = this.#parts.store;
    const { platform } = channel;
    if (!(await channels.wasTakenBack(platform, id))) await attached.keep(platform, id, images);
  }

  /** The platform may still have what somebody had us forget, and give it as the background of a new thread. */
  async #wasTakenBack({ channel, id, kind, isBackground }: InboundMessage): Promise<boolean> {
    if (kind !== "thread" || isBackground !== true) return false;
    return this.#parts.store.channels.wasTakenBack(channel.platform, id);
  }

  /** It is too old to be run, or was run when it was said, and is no message of the log either way. */
  #wasCommand(binding: Binding, message: InboundMessage, takesPart: boolean): boolean {
    const asSaid = rule(binding, { ...message, isBackground: false }, takesPart);
    return asSaid.outcome === "turn" && this.#commands.find(message) !== null;
  }

  /** The agent has been asked something in this thread before: what is said there is meant for it, too. */
  async #takesPart(binding: Binding, message: InboundMessage): Promise<boolean> {
    if (message.kind !== "thread" || message.addressed || !binding.mentionRequired) return false;
    const channel = formatAddress(message.channel);
    if (this.#threads.has(channel)) return true;
    const takesPart = await this.#parts.store.channels.hasAddressed(message.channel);
    if (takesPart) this.#threads.set(channel, true);
    return takesPart;
  }

  /** Whether it may make a turn, where it is meant to. What may not is listened to. */
  #withinLimits(binding: Binding, message: InboundMessage, isAsked: boolean): boolean {
    const { limits, registry } = this.#parts;
    const { author, channel } = message;
    const address = formatAddress(channel);
    if (message.isBackground === true) return false;
    if (!limits.heard(address, author.isBot, isAsked) || !isAsked) return false;
    const known = this.#known.get(channelKey(binding, channel));
    // What is answered together with others costs no turn of its own.
    const isWaiting = known !== undefined && (registry.loaded(known)?.status.due ?? 0) > 0;
    return isWaiting || this.#isWithinRate(binding, message);
  }

  /** Counts what a person asks, a question or a command. Who asks too often is told so once. */
  #isWithinRate({ rateLimit }: Binding, { author, channel, id }: InboundMessage): boolean {
    const { limits, voice, failureText } = this.#parts;
    const asked = limits.ask(`${channel.platform}\n${author.id}`, rateLimit);
    if (asked === "first_over") voice.tell(channel, id, failureText("too_often"));
    return asked === "within";
  }

  /** One line a channel: somebody may talk there all day. */
  #tellUnbound(channel: string): void {
    if (this.#unbound.has(channel)) return;
    this.#unbound.set(channel, true);
    this.#parts.log.info({ channel }, "message_unbound");
  }

  async #deleteChannel({ channel, at }: InboundChannelDeletion): Promise<Receipt> {
    const { store } = this.#parts;
    const { result: known } = await insist(async () => store.erasures.note(channel, at));
    if (known === 0) return { outcome: "unknown_message" };
    this.erasures.begin();
    return { outcome: "accepted", seq: 0 };
  }

  async #channelId(where: ChannelOnPlatform, binding: Binding): Promise<ChannelId> {
    const key = channelKey(binding, where.channel);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const { kind, workspace, channel: address, place } = where;
    const { agent } = binding;
    const id = await this.#parts.store.channels.open({ address, kind, workspace, place, agent });
    this.#known.set(key, id);
    return id;
  }
}

function channelKey({ agent }: Binding, channel: ChannelAddress): string {
  return `${agent}\n${formatAddress(channel)}`;
}
