import type { DraftParts } from "./draft.ts";
import { steadyNow } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import type { OutboundFile, OutboundMessage } from "../../core/message.ts";
import { PlatformError } from "../../platforms/platform.ts";
import { StaleEpochError } from "../../store/database/errors.ts";
import type { Delivery, DeliveryStore, PendingAnswer } from "../../store/turns/deliveries.ts";
import { askFresh, FRESH_MS, isFresh } from "./fresh.ts";
import type { Insister } from "./insist.ts";
import { keyOf, nextAttempt, shortTexts, textOf } from "./refusal.ts";

export interface SentAnswer extends PendingAnswer {
  readonly texts: readonly string[];
  /** Undefined: the channel's own agent. */
  readonly speaker: string | undefined;
  /** When this daemon was known to own the channel. */
  readonly knownAt: number;
  /** The part is this, and no text. */
  readonly file?: OutboundFile;
}

/** How the sending of a part ended; `part`: its last form. `instead`: these take its place; `left`: the channel's next owner goes on. */
export type PartEnd =
  | { readonly kind: "sent"; readonly part: Delivery; readonly messageId: string }
  | { readonly kind: "instead"; readonly parts: readonly Delivery[] }
  | { readonly kind: "refused" | "gone" | "withdrawn"; readonly part: Delivery }
  | { readonly kind: "left" };

export interface PartSenderParts extends Pick<DraftParts, "owner" | "address" | "platform" | "signal"> {
  readonly deliveries: Pick<DeliveryStore, "postAnew" | "shorten" | "sendPlain" | "refuseOldEpoch">;
  readonly insister: Insister;
}

/** A refused call, and the message that it was to edit; null: it was to post one. */
interface Refusal {
  readonly error: PlatformError;
  readonly editOf: string | null;
}

/**
 * Sends one part of an answer until the platform accepts it in some form, or refuses it in each. The row names a form before the form is
 * sent. A daemon that resumes the part goes on with that form.
 *
 *   edit of the draft → a new message → shorter pieces → each without markup → refused
 *
 * A draft that a person deleted is posted again once, unless the question was deleted as well.
 */
export class PartSender {
  readonly #parts: PartSenderParts;

  constructor(parts: PartSenderParts) {
    this.#parts = parts;
  }

  async send(part: Delivery, answer: SentAnswer): Promise<PartEnd> {
    let current = part;
    let mayBeThere = answer.mayBeSent || part.drafted;
    const done = await this.#parts.insister.insist(async (): Promise<PartEnd> => {
      for (;;) {
        if (!mayBeThere && !isFresh(answer.knownAt)) mayBeThere = await this.#mayBeSentElsewhere();
        // The channel's next owner sends it.
        this.#parts.signal.throwIfAborted();
        const sending = this.#call(current, answer, mayBeThere);
        mayBeThere = true;
        const outcome = await sending;
        if (typeof outcome === "string") return { kind: "sent", part: current, messageId: outcome };
        const next = await this.#afterRefusal(current, outcome, answer);
        if ("kind" in next) return next;
        current = next;
        mayBeThere = false;
      }
    });
    return typeof done === "string" ? { kind: "left" } : done.result;
  }

  /**
   * Checks that no other daemon has become home: this process may have been frozen, or the call may have waited.
   * @returns true: the log does not answer in time
   * @throws StaleEpochError if another daemon is home
   */
  async #mayBeSentElsewhere(): Promise<boolean> {
    const { owner, deliveries } = this.#parts;
    const asking = askFresh(async () => deliveries.refuseOldEpoch(owner));
    try {
      return (await withDeadline(asking, FRESH_MS))?.isFresh !== true;
    } catch (error) {
      if (error instanceof StaleEpochError) throw error;
      return true;
    }
  }

  /**
   * Changes the part's row for the next attempt, before that is made.
   * @returns what is sent next, or how it ended
   * @throws WeirError if the database does not answer
   */
  async #afterRefusal(
    part: Delivery,
    { error, editOf }: Refusal,
    answer: SentAnswer,
  ): Promise<Delivery | PartEnd> {
    const { owner, platform, deliveries, insister } = this.#parts;
    const { maxTextLength } = platform.capabilities;
    const pieces = answer.file === undefined ? shortTexts(answer.texts[part.part] ?? "", maxTextLength) : [];
    const next = nextAttempt(part, error, editOf !== null, pieces.length);
    switch (next) {
      case "anew": {
        const idempotencyKey = keyOf(part, "anew");
        const leftover = error.isMessageGone ? part.leftover : editOf;
        const isWanted = await deliveries.postAnew(owner, part.id, idempotencyKey, leftover);
        insister.tellFailure(error, isWanted ? 0 : null);
        if (!isWanted) return { kind: "withdrawn", part };
        return { ...part, idempotencyKey, messageId: null, drafted: false, leftover };
      }
      case "short": {
        const keys = pieces.map((_, index) => keyOf(part, index));
        insister.tellFailure(error, 0);
        return { kind: "instead", parts: await deliveries.shorten(owner, part.id, keys) };
      }
      case "plain": {
        const idempotencyKey = keyOf(part, "plain");
        insister.tellFailure(error, 0);
        await deliveries.sendPlain(owner, part.id, idempotencyKey);
        return { ...part, form: "plain", idempotencyKey, messageId: null, drafted: false };
      }
      case "refused":
      case "gone":
        insister.tellFailure(error, null);
        return { kind: next, part };
    }
  }

  /** @returns the platform's id of the message that now shows the text; or why there is none. @throws PlatformError: try again */
  async #call(part: Delivery, answer: SentAnswer, mayBeThere: boolean): Promise<string | Refusal> {
    const { platform } = this.#parts;
    const message = this.#messageOf(part, answer, mayBeThere);
    let editOf = part.messageId;
    try {
      if (editOf !== null) {
        await platform.edit(editOf, message);
        return editOf;
      }
      const messageId = await platform.send(message);
      // The key may have returned a draft whose acknowledgement was lost: it shows an older piece.
      if (!part.drafted || !platform.capabilities.takesIdempotencyKeys) return messageId;
      editOf = messageId;
      await platform.edit(messageId, message);
      return messageId;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.retryable) throw error;
      return { error, editOf: editOf ?? error.editOf ?? null };
    }
  }

  #messageOf(part: Delivery, answer: SentAnswer, mayBeThere: boolean): OutboundMessage {
    const { platform, address } = this.#parts;
    const { speaker, acceptedAt, modelMs, texts, inReplyTo, kind, parts } = answer;
    const turnMs = Math.max(0, Math.round(steadyNow() - acceptedAt.getTime()));
    return {
      channel: address,
      idempotencyKey: part.idempotencyKey,
      mayBeThere,
      ...(part.drafted && { mayBeInPart: true }),
      text: textOf(part, texts, platform.capabilities.maxTextLength),
      ...(part.form === "plain" && { plain: true }),
      ...(answer.file !== undefined && { file: answer.file }),
      final: true,
      ...(part.part === parts.at(-1)?.part && part.form === "whole" && { asksFeedback: true }),
      inReplyTo,
      kind,
      ...(speaker !== undefined && kind === "answer" && { speaker }),
      timing: { turnMs, modelMs: Math.round(modelMs) },
    };
  }
}
