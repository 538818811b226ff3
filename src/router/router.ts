import type { Logger } from "pino";
import type { ChannelRegistry } from "../channel/registry.ts";
import { errorMessage } from "../core/errors.ts";
import { type ChannelId, formatAddress } from "../core/ids.ts";
import type { InboundDeletion, InboundEdit, InboundEvent, InboundMessage, Receipt } from "../core/message.ts";
import type { InboundCommand, PlatformInbox } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels.ts";
import type { Store } from "../store/store.ts";
import type { Events } from "../telemetry/events.ts";
import { type Binding, findBinding } from "./bindings.ts";

export interface RouterParts {
  readonly store: Store;
  readonly registry: ChannelRegistry;
  readonly events: Events;
  readonly log: Logger;
  readonly bindings: readonly Binding[];
  /** Runs what people ask with a slash; it answers the asker alone. */
  readonly commands: (command: InboundCommand) => Promise<string>;
}

/** Channels whose id is remembered. */
const KNOWN_CHANNELS = 10_000;

/**
 * Finds who answers an event, appends it to the log, and only then wakes its channel: the log is the inbox, and
 * whatever fails behind it is taken up again from there.
 */
export class Router implements PlatformInbox {
  readonly #parts: RouterParts;
  /** Ids by address and agent, so that a message costs one statement and not two. */
  readonly #known = new Map<string, ChannelId>();

  constructor(parts: RouterParts) {
    this.#parts = parts;
  }

  async receive(event: InboundEvent): Promise<Receipt> {
    switch (event.type) {
      case "message":
        return this.#message(event);
      case "edit":
        return this.#edit(event);
      case "deletion":
        return this.#delete(event);
    }
  }

  async command(command: InboundCommand): Promise<string> {
    return this.#parts.commands(command);
  }

  async #message(message: InboundMessage): Promise<Receipt> {
    const { store, registry, events, bindings, log } = this.#parts;
    const binding = findBinding(bindings, message.channel);
    const channel = formatAddress(message.channel);
    if (binding === undefined) {
      log.info({ channel }, "message_unbound");
      return { outcome: "unbound" };
    }
    const id = await this.#channelId(message, binding);
    const appended = await store.log.appendMessage(id, message);
    if (appended.duplicate) return { outcome: "duplicate", seq: appended.seq };
    const { seq } = appended;
    events.emit({
      type: "message_accepted",
      channel,
      seq,
      messageId: message.id,
      addressed: message.addressed,
    });
    this.#later(channel, registry.notify(id, appended.entry));
    return { outcome: "accepted", seq };
  }

  async #edit(edit: InboundEdit): Promise<Receipt> {
    const { store, registry } = this.#parts;
    const row = await this.#channelOf(edit);
    if (row === undefined) return { outcome: "unknown_message" };
    const result = await store.log.edit(row.id, edit.id, edit.text, edit.at);
    if (result.outcome === "unknown") return { outcome: "unknown_message" };
    if (result.outcome === "unchanged") return { outcome: "duplicate", seq: result.seq };
    const notedSeq = result.outcome === "noted" ? result.notedSeq : null;
    await registry.loaded(row.id)?.changed(result.seq, notedSeq);
    return { outcome: "accepted", seq: result.seq };
  }

  async #delete(deletion: InboundDeletion): Promise<Receipt> {
    const { store, registry } = this.#parts;
    const row = await this.#channelOf(deletion);
    const seq = row && (await store.log.delete(row.id, deletion.id));
    if (row === undefined || seq === undefined) return { outcome: "unknown_message" };
    await registry.loaded(row.id)?.changed(seq, null);
    return { outcome: "accepted", seq };
  }

  async #channelOf(event: InboundEdit | InboundDeletion): Promise<ChannelRow | undefined> {
    const { channels } = this.#parts.store;
    return event.channel === undefined
      ? channels.findByMessage(event.platform, event.id)
      : channels.find(event.channel);
  }

  async #channelId(message: InboundMessage, binding: Binding): Promise<ChannelId> {
    const key = `${binding.agent}\n${formatAddress(message.channel)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const { kind, workspace, channel: address } = message;
    const id = await this.#parts.store.channels.open({ address, kind, workspace, agent: binding.agent });
    if (this.#known.size >= KNOWN_CHANNELS) this.#known.clear();
    this.#known.set(key, id);
    return id;
  }

  /** The event is durable: what fails now is no failure of its receipt. */
  #later(channel: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#parts.log.error({ channel, why: errorMessage(error) }, "wake_failed");
    });
  }
}
