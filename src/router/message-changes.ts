import type { ChannelRegistry } from "../channel/registry.ts";
import type { Waker } from "../channel/waker.ts";
import type { ChannelAddress, Seq } from "../core/ids.ts";
import {
  type InboundDeletion,
  type InboundEdit,
  type InboundMessage,
  REACTION_PREFIX,
  reactionId,
  type Reactions,
  type Receipt,
} from "../core/message.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { EditOutcome } from "../store/deletion/edits.ts";
import type { QuotedWords } from "../store/deletion/quotes.ts";
import type { ReactionRow } from "../store/log/reactions.ts";
import type { Store } from "../store/store.ts";
import { REDACTED_AT_ONCE, redactMessages, removeQuotes, writeThrough } from "./redact-messages.ts";
import { retryWrite } from "../async/retry.ts";
import { storableText } from "../text/text.ts";
import type { Commands } from "./text-commands.ts";

export interface MessageChangesParts {
  readonly store: Store;
  readonly registry: Pick<ChannelRegistry, "inMemory">;
  readonly waker: Waker;
  readonly digesterOf: (channel: ChannelRow) => Digester;
  readonly commands: Pick<Commands, "memoryIn">;
}

/** Applies people's edits and deletions to the log and to the memory of the actors. */
export class MessageChanges {
  readonly #parts: MessageChangesParts;

  constructor(parts: MessageChangesParts) {
    this.#parts = parts;
  }

  /**
   * The id under which a message is appended. A reaction that was removed and is added again is a new message. It is a
   * redelivery if the reaction is still there, or if this or a later one was removed.
   */
  async idOf({ id, channel, replyTo, author, at }: InboundMessage): Promise<string> {
    if (replyTo === undefined || !id.startsWith(REACTION_PREFIX)) return id;
    const { result: given } = await retryWrite(async () =>
      this.#parts.store.reactions.under(channel.platform, replyTo, author.id),
    );
    const same = given.filter((row) => isGiving(row, id));
    const known = same.find((row) => !row.isTakenBack || row.at >= at);
    return known?.id ?? (same.length === 0 ? id : `${id}/${same.length + 1}`);
  }

  async edit(edit: InboundEdit): Promise<Receipt> {
    const receipt = await this.#change(edit, async (row) => {
      const result = await this.#write(row, edit);
      if (result.outcome === "unknown") return { outcome: "unknown_message" };
      await this.#parts.store.attached.dropUnnamed(edit.platform, edit.id, edit.text);
      if (result.outcome === "unchanged") return { outcome: "duplicate", seq: result.seq };
      const notedSeq = result.outcome === "noted" ? result.notedSeq : null;
      return { outcome: "accepted", seq: result.seq, notedSeq };
    });
    await this.#removeQuotes(edit.platform, { messageId: edit.id, editedAt: edit.at });
    return receipt;
  }

  /** Those of a message that is another one now, or gone. */
  async #removeQuotes(platform: string, words: QuotedWords): Promise<void> {
    const { store } = this.#parts;
    const { result: rows } = await retryWrite(async () => store.quotes.channels(platform, words));
    for (const row of rows) await removeQuotes(this.#parts, row, words);
  }

  /** An edit drops the memory of the message's old words, and adds a new one if the new words ask for it. */
  async #write(row: ChannelRow, edit: InboundEdit): Promise<EditOutcome> {
    const { store, commands } = this.#parts;
    const digester = this.#parts.digesterOf(row);
    const said = await store.people.bearing(row.id, edit.id);
    if (said === undefined || commands.memoryIn(row, said) === null)
      return store.log.edit(row.id, edit.id, edit.text, edit.at, digester, edit.isLate);
    const memory = commands.memoryIn(row, { ...said, text: edit.text });
    const result = await store.people.reword(row.id, edit, memory, digester);
    // Tool results quote the memory, so the edit has changed more than its notice says.
    return result.outcome === "noted" ? { outcome: "replaced", seq: result.seq } : result;
  }

  async delete(deletion: InboundDeletion): Promise<Receipt> {
    if (deletion.reactions !== undefined) return this.#takeBack(deletion.reactions, deletion);
    const receipt = await this.#change(deletion, async (channel) => {
      const digester = this.#parts.digesterOf(channel);
      const seq = await this.#parts.store.log.delete(channel.id, deletion.id, digester);
      return seq === undefined
        ? { outcome: "unknown_message" }
        : { outcome: "accepted", seq, notedSeq: null };
    });
    await this.#removeQuotes(deletion.platform, { messageId: deletion.id, editedAt: null });
    return receipt;
  }

  /** In bounded batches, each one transaction: a later failure undoes no batch. */
  async #takeBack(
    { messageId, person, emoji }: Reactions,
    { platform, at }: InboundDeletion,
  ): Promise<Receipt> {
    const { store } = this.#parts;
    const { result: given } = await retryWrite(async () =>
      store.reactions.under(platform, messageId, person ?? null),
    );
    const taken = given.filter(
      (row) =>
        !row.isTakenBack &&
        row.at <= at &&
        (emoji === undefined || isGiving(row, reactionId(messageId, row.person, emoji))),
    );
    let receipt: Receipt = { outcome: "unknown_message" };
    for (const [, rows] of Map.groupBy(taken, ({ channel }) => channel)) {
      const channel = rows[0] === undefined ? undefined : await this.#find(rows[0].address);
      if (channel === undefined) continue;
      for (let from = 0; from < rows.length; from += REDACTED_AT_ONCE) {
        const ids = rows.slice(from, from + REDACTED_AT_ONCE).map(({ id }) => id);
        const { seqs } = await redactMessages(this.#parts, channel, ids);
        if (seqs[0] !== undefined) receipt = { outcome: "accepted", seq: seqs[0] };
      }
    }
    return receipt;
  }

  /** Changes a message in the log, then in the memory of its channel's actor, if it has one. */
  async #change(
    event: InboundEdit | InboundDeletion,
    write: (channel: ChannelRow) => Promise<Change>,
  ): Promise<Receipt> {
    let receipt: Receipt = { outcome: "unknown_message" };
    for (const row of await this.#channelsOf(event)) {
      const changed = await this.#changeIn(row, write);
      if (changed.outcome !== "accepted") await this.#takeUp(row, event);
      if (receipt.outcome !== "accepted") receipt = changed;
    }
    return receipt;
  }

  /** Of several daemons on one database one writes a change, and all must apply it. */
  async #takeUp({ id }: ChannelRow, event: InboundEdit | InboundDeletion): Promise<void> {
    const text = event.type === "edit" ? storableText(event.text) : null;
    await (await this.#parts.registry.inMemory(id))?.changes.heardLate(storableText(event.id), text);
  }

  async #changeIn(row: ChannelRow, write: (channel: ChannelRow) => Promise<Change>): Promise<Receipt> {
    const result = await writeThrough(
      this.#parts.waker,
      row.id,
      async () => write(row),
      (change) => (change.outcome === "accepted" ? [change.seq, change.notedSeq] : null),
    );
    return result.outcome === "accepted" ? { outcome: "accepted", seq: result.seq } : result;
  }

  /** A message may be background of threads, too. */
  async #channelsOf(event: InboundEdit | InboundDeletion): Promise<ChannelRow[]> {
    const { platform, id } = event;
    if (event.channel === undefined)
      return (await retryWrite(async () => this.#parts.store.channels.withMessage(platform, id))).result;
    const row = await this.#find(event.channel);
    return row === undefined ? [] : [row];
  }

  async #find(address: ChannelAddress): Promise<ChannelRow | undefined> {
    return (await retryWrite(async () => this.#parts.store.channels.find(address))).result;
  }
}

/** Whether a row is this reaction, first or again. */
function isGiving(row: ReactionRow, id: string): boolean {
  return row.id === id || row.id.startsWith(`${id}/`);
}

/** The outcome of an edit or a deletion, with the seq of its notice. */
type Change =
  | Exclude<Receipt, { outcome: "accepted" }>
  | { readonly outcome: "accepted"; readonly seq: Seq; readonly notedSeq: Seq | null };
