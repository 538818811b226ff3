import { BoundedMap } from "../../async/bounded-map.ts";
import type {
  InboundDeletion,
  InboundEdit,
  InboundEvent,
  InboundMessage,
  Receipt,
} from "../../core/message.ts";
import type { PlatformInbox } from "../platform.ts";

/** Maximum remembered deletions and edits: fewer edits, since an edit holds its text. */
const MAX_DELETIONS = 10_000;
const MAX_EDITS = 500;

/**
 * Remembers edits and deletions of messages that are not in the log yet: a platform may redeliver a message
 * after its change, or a history page may have been read before the change. A deleted message is not stored;
 * an edit is applied after its message.
 */
export class PendingChanges {
  readonly #inbox: Pick<PlatformInbox, "receive">;
  readonly #deletions = new BoundedMap<InboundDeletion>(MAX_DELETIONS);
  readonly #edits = new BoundedMap<InboundEdit>(MAX_EDITS);

  constructor(inbox: Pick<PlatformInbox, "receive">) {
    this.#inbox = inbox;
  }

  /** Like `PlatformInbox.receive`. */
  async receive(event: InboundEvent): Promise<Receipt> {
    switch (event.type) {
      case "deletion":
        this.#edits.delete(event.id);
        this.#deletions.set(event.id, event);
        return this.#inbox.receive(event);
      case "edit": {
        const { said, ...change } = event;
        const isDeleted = said !== undefined && this.#deletionOf(said) !== undefined;
        const receipt = await this.#inbox.receive(isDeleted ? change : event);
        if (receipt.outcome === "unknown_message") this.#rememberEdit(change);
        return receipt;
      }
      case "channel_deletion":
        return this.#inbox.receive(event);
      case "message":
        if (this.#deletionOf(event) !== undefined) return { outcome: "ignored" };
        return this.#applyChange(event, await this.#inbox.receive(this.#withoutDeletedQuote(event)));
    }
  }

  #withoutDeletedQuote({ quote, ...message }: InboundMessage): InboundMessage {
    return quote === undefined || this.#deletions.get(quote.id) !== undefined
      ? message
      : { ...message, quote };
  }

  /** Applies a message's remembered change, even if it arrived while the message was being stored. */
  async #applyChange(message: InboundMessage, receipt: Receipt): Promise<Receipt> {
    const { id } = message;
    const change = this.#deletionOf(message) ?? this.#edits.get(id);
    // A command's message may be in the log, too.
    const mayBeThere = ["accepted", "duplicate", "command"].includes(receipt.outcome);
    if (change === undefined || !mayBeThere) return receipt;
    await this.#inbox.receive(change);
    this.#edits.delete(id);
    return receipt;
  }

  /** A reaction may be added again after its removal. */
  #deletionOf({ id, at }: InboundMessage): InboundDeletion | undefined {
    const deletion = this.#deletions.get(id);
    const isOlder = deletion?.reactions !== undefined && deletion.at < at;
    return isOlder ? undefined : deletion;
  }

  #rememberEdit(edit: InboundEdit): void {
    const known = this.#edits.get(edit.id);
    if (known === undefined || known.at <= edit.at) this.#edits.set(edit.id, edit);
  }
}
