import pRetry from "p-retry";
import type { Logger } from "pino";
import type { ChannelRegistry } from "../channel/registry.ts";
import { WeirError } from "../core/errors.ts";
import { type ChannelId, formatAddress, type Seq } from "../core/ids.ts";
import type { InboundDeletion, InboundEdit, InboundEvent, InboundMessage, Receipt } from "../core/message.ts";
import type { InboundCommand, PlatformInbox } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels.ts";
import type { Digester } from "../store/deletion.ts";
import type { Store } from "../store/store.ts";
import type { Events } from "../telemetry/events.ts";
import { type Binding, findBinding } from "./bindings.ts";
import { assertStorable } from "./storable-event.ts";

export interface RouterParts {
  readonly store: Store;
  readonly registry: ChannelRegistry;
  readonly events: Events;
  readonly log: Logger;
  readonly bindings: readonly Binding[];
  /** Makes the extract that stands in for a summary with a deleted text in it. */
  readonly digesterOf: (channel: ChannelRow) => Digester;
  /** Runs what people ask with a slash; it answers the asker alone. */
  readonly commands: (command: InboundCommand) => Promise<string>;
}

/** How often a write is repeated while the database is away, and the first wait, ms; each is twice the one before. */
const RETRIES = 4;
const RETRY_FROM_MS = 100;

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
    assertStorable(event);
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
    const { result: appended, isRepeated } = await insist(async () => {
      const id = await this.#channelId(message, binding);
      return { id, ...(await store.log.appendMessage(id, message)) };
    });
    const { id, seq } = appended;
    // A duplicate that is still due may be what an attempt of ours, or an earlier delivery, committed without hearing of it.
    if (appended.duplicate && appended.due) void registry.remind(id, seq);
    if (appended.duplicate && !(appended.due && isRepeated)) return { outcome: "duplicate", seq };
    const { id: messageId, addressed } = message;
    events.emit({ type: "message_accepted", channel, seq, messageId, addressed });
    if (!appended.duplicate) void registry.notify(id, appended.entry);
    return { outcome: "accepted", seq };
  }

  async #edit(edit: InboundEdit): Promise<Receipt> {
    return this.#change(edit, async ({ id }) => {
      const result = await this.#parts.store.log.edit(id, edit.id, edit.text, edit.at);
      if (result.outcome === "unknown") return { outcome: "unknown_message" };
      if (result.outcome === "unchanged") return { outcome: "duplicate", seq: result.seq };
      const notedSeq = result.outcome === "noted" ? result.notedSeq : null;
      return { outcome: "accepted", seq: result.seq, notedSeq };
    });
  }

  async #delete(deletion: InboundDeletion): Promise<Receipt> {
    return this.#change(deletion, async (channel) => {
      const digester = this.#parts.digesterOf(channel);
      const seq = await this.#parts.store.log.delete(channel.id, deletion.id, digester);
      return seq === undefined
        ? { outcome: "unknown_message" }
        : { outcome: "accepted", seq, notedSeq: null };
    });
  }

  /** Changes a message in the log, then in the memory of its channel's actor, where it has one. */
  async #change(
    event: InboundEdit | InboundDeletion,
    write: (channel: ChannelRow) => Promise<Change>,
  ): Promise<Receipt> {
    const row = await this.#channelOf(event);
    if (row === undefined) return { outcome: "unknown_message" };
    let isInDoubt = true;
    try {
      const { result, isRepeated } = await insist(async () => write(row));
      isInDoubt = isRepeated;
      if (result.outcome !== "accepted") return result;
      await (await this.#parts.registry.inMemory(row.id))?.changed(result.seq, result.notedSeq);
      return { outcome: "accepted", seq: result.seq };
    } finally {
      // What was committed without our hearing of it must not stay in memory as it was.
      if (isInDoubt) (await this.#parts.registry.inMemory(row.id))?.doubt();
    }
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
}

/** What became of an edit or a deletion, with the notice that tells of it. */
type Change =
  | Exclude<Receipt, { outcome: "accepted" }>
  | { readonly outcome: "accepted"; readonly seq: Seq; readonly notedSeq: Seq | null };

/**
 * Repeats an idempotent write while the database is away for a moment: a platform does not deliver an event twice.
 * @returns also whether an earlier attempt failed, which may have been committed all the same
 */
async function insist<Result>(
  write: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly isRepeated: boolean }> {
  let attempts = 0;
  const result = await pRetry(
    async () => {
      attempts++;
      return write();
    },
    {
      retries: RETRIES,
      minTimeout: RETRY_FROM_MS,
      shouldRetry: ({ error }) => error instanceof WeirError && error.retryable,
    },
  );
  return { result, isRepeated: attempts > 1 };
}
