import PQueue from "p-queue";
import { errorMessage } from "../../core/errors.ts";
import type { TurnRange } from "../../core/history.ts";
import { type AgentId, type ChannelAddress, type TurnId, formatAddress, type Owner } from "../../core/ids.ts";
import { backoffMs, jittered } from "../../async/backoff.ts";
import type { OutboundMessage } from "../../core/message.ts";
import { splitText } from "../../text/split-message.ts";
import { type Platform, PlatformError } from "../../platforms/platform.ts";
import type { Delivery, DeliveryStore, PendingAnswer, OrphanedDraft } from "../../store/turns/deliveries.ts";
import { StaleEpochError } from "../../store/database/errors.ts";
import type { Events } from "../../telemetry/events.ts";
import { Draft } from "./draft.ts";
import { askFresh, FRESH_MS, isFresh } from "./fresh.ts";
import { ABORTED, unlessAborted, withDeadline } from "../../async/deadline.ts";
import { pause, steadyNow } from "../../async/clock.ts";
import { displayName } from "../../text/text.ts";

/**
 * Repeats a call until it is done.
 * @returns `failed`: the platform refuses it for good; `left`: this daemon is closing, has lost the channel, or no
 * longer serves its platform: the channel's next owner repeats the call
 */
export type Insist = <Result>(
  ask: () => Promise<Result>,
) => Promise<{ readonly result: Result } | "failed" | "left">;

/** First and longest wait before an answer is sent again, give or take a quarter, ms. */
const BACKOFF = { fromMs: 500, toMs: 20_000 };
/** Suffix of the key of a part that was posted again. */
const ANEW = "/anew";

export interface OutboxParts {
  readonly owner: Owner;
  readonly address: ChannelAddress;
  readonly platform: Platform;
  /** Answers are shown while they are written, if the platform can. */
  readonly streams: boolean;
  readonly deliveries: DeliveryStore;
  readonly events: Events;
  /** An agent's name, as people read it. */
  readonly nameOf: (agent: AgentId) => string;
  /** Called if another daemon has taken the channel. */
  readonly onLost: (error: StaleEpochError) => void;
}

/** The author of a text; no agent: the channel's own. */
interface Speaks {
  readonly agent?: AgentId;
}

/**
 * Delivers a channel's answers to its platform, in order. "Sent" means acknowledged by the platform. A part is sent again with the same
 * idempotency key until the platform accepts it; turns do not wait.
 *
 * A part: pending → sent; or failed, if the channel was deleted or the text refused; or left pending until `recover`, while no platform
 * serves the channel (its terminal was closed). If a person deleted its draft, the part is posted again, once, unless the question was
 * deleted as well. An orphaned draft (its turn ended without an answer): pending → failed, once the platform has deleted it.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #closing = new AbortController();
  /** Turns whose answer is being delivered, so that reading the log again does not deliver it twice. */
  readonly #underWay = new Set<TurnId>();
  /** For each open look-up, the turns delivered during it: its rows of them may be outdated. */
  readonly #lookUps = new Set<Set<TurnId>>();
  /** Orphaned drafts that are being deleted. */
  readonly #leaving = new Set<string>();
  /** Running commits of acknowledgements: the next answer does not wait for them. */
  readonly #notes = new Set<Promise<unknown>>();

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** Nothing is being delivered, and all acknowledgements are in the log. */
  get isIdle(): boolean {
    return this.#isEmpty && this.#notes.size === 0;
  }

  get #isEmpty(): boolean {
    return this.#queue.size === 0 && this.#queue.pending === 0;
  }

  /** Resolves when each answer is sent, failed, or left to the next owner by `close`. */
  async idle(): Promise<void> {
    await this.#queue.onIdle();
    await Promise.all(this.#notes);
  }

  /** Splits an answer into messages for this platform; an answer of another agent than the channel's own gets its name. */
  split({ text, kind }: Pick<PendingAnswer, "text"> & { readonly kind: string }, by: Speaks): string[] {
    const { platform } = this.#parts;
    // A notice is by Weir, not by an agent.
    const shown = kind === "notice" ? text : this.#signed(by)(text);
    return splitText(shown, platform.capabilities.maxTextLength);
  }

  /** Puts a guest's name before its text if the platform does not show it itself. */
  #signed(by: Speaks): (text: string) => string {
    const name = this.#speaker(by);
    const isShown = this.#parts.platform.capabilities.showsSpeakers === true;
    return name === undefined || isShown ? (text) => text : (text) => underName(name, text);
  }

  /** Undefined: the channel's own agent. */
  #speaker({ agent }: Speaks): string | undefined {
    return agent === undefined ? undefined : this.#parts.nameOf(agent);
  }

  /** The draft of an answer; null if the platform shows none, or an older answer waits. */
  openDraft(
    turn: Pick<TurnRange, "id" | "agent">,
    idempotencyKey: string,
    inReplyTo: readonly string[],
  ): Draft | null {
    const { platform, deliveries, owner, address, streams } = this.#parts;
    const { streaming } = platform.capabilities;
    if (!streams || streaming === false || !this.#isEmpty) return null;
    const signal = this.#closing.signal;
    return new Draft({
      platform,
      deliveries,
      owner,
      address,
      turnId: turn.id,
      idempotencyKey,
      inReplyTo,
      speaker: this.#speaker(turn),
      signed: this.#signed(turn),
      signal,
      timing: streaming,
    });
  }

  /** Delivers a settled answer, unless it is being delivered already. */
  deliver(answer: PendingAnswer): void {
    if (this.#underWay.has(answer.turnId)) return;
    this.#underWay.add(answer.turnId);
    for (const known of this.#lookUps) known.add(answer.turnId);
    const knownAt = steadyNow();
    void this.#queue.add(async () => {
      const notes = await this.#deliverAll(answer, knownAt);
      const noted = this.#noted(answer, notes);
      this.#notes.add(noted);
      void noted.finally(() => this.#notes.delete(noted));
    });
  }

  /** Reports a delivered answer once its acknowledgements are in the log. */
  async #noted(
    { turnId, acceptedAt, parts, inReplyTo }: PendingAnswer,
    notes: readonly Promise<string | null>[],
  ): Promise<void> {
    const turnMs = Math.round(steadyNow() - acceptedAt.getTime());
    const messageIds = (await Promise.all(notes)).filter((id) => id !== null);
    const isWhole = messageIds.length === parts.length;
    this.#underWay.delete(turnId);
    if (!isWhole) return;
    const channel = formatAddress(this.#parts.address);
    this.#parts.events.emit({
      type: "reply_delivered",
      channel,
      turn: turnId,
      parts: parts.length,
      turnMs,
      inReplyTo,
      messageIds,
    });
  }

  /** Does other work at the platform, in order with the answers. @param work must not throw */
  add(work: (insist: Insist) => Promise<void>): void {
    void this.#queue.add(async () => work(async (ask) => this.#insist(ask)));
  }

  /** Takes up the answers and orphaned drafts that the log says are still undelivered. */
  async recover(): Promise<void> {
    const { deliveries, owner } = this.#parts;
    const known = new Set(this.#underWay);
    this.#lookUps.add(known);
    const { answers, orphanedDrafts } = await deliveries
      .undelivered(owner.channel)
      .finally(() => this.#lookUps.delete(known));
    // Skips answers delivered since the read; another look-up finds undelivered parts.
    for (const answer of answers) if (!known.has(answer.turnId)) this.deliver(answer);
    for (const { id, messageId } of orphanedDrafts) this.withdraw(messageId, id);
  }

  /**
   * Deletes an orphaned draft, until the platform has done so. Returns at once.
   * @param id of its row; null: the row could not be stored, and the message stays if this process ends before
   */
  withdraw(messageId: string, id: OrphanedDraft["id"] | null): void {
    if (this.#leaving.has(messageId)) return;
    this.#leaving.add(messageId);
    const { platform, address } = this.#parts;
    void this.#queue.add(async () => {
      const done = await this.#insist(async () => platform.remove?.(address, messageId));
      if (done !== "left" && id !== null) await this.#fail([{ id }], "withdrawn");
      this.#leaving.delete(messageId);
    });
  }

  /** Ends all waiting; what is not sent stays pending in the log. */
  close(): void {
    this.#closing.abort();
    this.#queue.clear();
  }

  /** @param knownAt when this daemon was known to own the channel @returns the acknowledgements of the sent parts */
  async #deliverAll(answer: PendingAnswer, knownAt: number): Promise<Promise<string | null>[]> {
    const texts = this.split(answer, answer);
    const notes: Promise<string | null>[] = [];
    for (const [index, part] of answer.parts.entries()) {
      const sent = await this.#untilSent(part, answer, texts[part.part] ?? "", knownAt);
      // The channel was deleted or refuses the text: the rest of the answer would fail, too.
      if (sent === "failed") await this.#fail(answer.parts.slice(index), "refused");
      if (sent === "failed" || sent === "left") break;
      notes.push(this.#note(part, sent.result));
    }
    return notes;
  }

  /** Records in the log that a part was sent, with retries. Must not throw. @returns the id; null: it is left to the next owner */
  async #note({ id }: Delivery, messageId: string): Promise<string | null> {
    const { owner, deliveries, onLost } = this.#parts;
    for (let failures = 0; ; failures++) {
      try {
        await deliveries.sent(owner, id, messageId);
        return messageId;
      } catch (error) {
        if (error instanceof StaleEpochError) {
          onLost(error);
          return null;
        }
        const waitMs = backoffMs(BACKOFF, failures);
        this.#tellFailure(error, waitMs);
        if (this.#closing.signal.aborted) return null;
        await pause(waitMs, this.#closing.signal);
      }
    }
  }

  /**
   * Repeats a call to the platform until it is done.
   * @returns `failed`: the platform refuses it for good; `left`: this daemon is closing, has lost the channel, or no
   * longer serves its platform: the channel's next owner repeats the call
   */
  async #insist<Result>(
    ask: () => Promise<Result>,
  ): Promise<{ readonly result: Result } | "failed" | "left"> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        // A platform that never answers must not keep the channel from being released: the next owner asks again.
        const result = await unlessAborted(ask(), signal);
        if (result === ABORTED) break;
        return { result };
      } catch (error) {
        if (error instanceof StaleEpochError) {
          this.#parts.onLost(error);
          return "left";
        }
        const isFinal = error instanceof PlatformError && !error.retryable;
        const retryInMs = isFinal
          ? null
          : ((error instanceof PlatformError ? error.retryAfterMs : undefined) ??
            jittered(backoffMs(BACKOFF, failures)));
        // This process can no longer deliver there: the work stays in the log for a process that can.
        const isLeft = retryInMs !== null && !this.#isServed;
        this.#tellFailure(error, isLeft ? null : retryInMs);
        if (retryInMs === null) return "failed";
        if (isLeft) return "left";
        await pause(retryInMs, signal);
      }
    }
    return "left";
  }

  get #isServed(): boolean {
    const { platform, address } = this.#parts;
    return platform.capabilities.serves(address);
  }

  async #untilSent(
    part: Delivery,
    answer: PendingAnswer,
    text: string,
    knownAt: number,
  ): Promise<{ readonly result: string } | "failed" | "left"> {
    let current = part;
    let mayBeThere = answer.mayBeSent || part.drafted;
    const send = async (): Promise<string> => {
      if (!mayBeThere && !isFresh(knownAt)) mayBeThere = await this.#mayBeSentElsewhere();
      // The channel's next owner sends it.
      this.#closing.signal.throwIfAborted();
      const sending = this.#sendPart(current, { ...answer, mayBeThere }, text);
      mayBeThere = true;
      return sending;
    };
    return this.#insist(async () => {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof PlatformError && error.isMessageGone)) throw error;
        const anew = await this.#postedAnew(current);
        if (anew === null) throw error;
        this.#tellFailure(error, 0);
        current = anew;
        mayBeThere = false;
        return send();
      }
    });
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

  /** Prepares to post a part again; changes its row before the send. @returns null: it stays deleted */
  async #postedAnew(part: Delivery): Promise<Delivery | null> {
    const { owner, deliveries } = this.#parts;
    // A second deletion is intended.
    if (part.idempotencyKey.endsWith(ANEW)) return null;
    const idempotencyKey = `${part.idempotencyKey}${ANEW}`;
    if (!(await deliveries.postAnew(owner, part.id, idempotencyKey))) return null;
    return { ...part, idempotencyKey, messageId: null, drafted: false };
  }

  /** Marks parts as failed for good. */
  async #fail(parts: readonly Pick<Delivery, "id">[], reason: string): Promise<void> {
    try {
      for (const part of parts) await this.#parts.deliveries.failed(this.#parts.owner, part.id, reason);
    } catch (error) {
      // They stay pending, and the next owner tries again.
      this.#tellFailure(error, null);
    }
  }

  /** @returns the platform's id of the message that now shows the text */
  async #sendPart(
    part: Delivery,
    answer: PendingAnswer & { readonly mayBeThere: boolean },
    text: string,
  ): Promise<string> {
    const { platform, address } = this.#parts;
    const turnMs = Math.max(0, Math.round(steadyNow() - answer.acceptedAt.getTime()));
    const speaker = this.#speaker(answer);
    const message: OutboundMessage = {
      channel: address,
      idempotencyKey: part.idempotencyKey,
      mayBeThere: answer.mayBeThere,
      ...(part.drafted && { mayBeInPart: true }),
      text,
      final: true,
      inReplyTo: answer.inReplyTo,
      kind: answer.kind,
      ...(speaker !== undefined && answer.kind === "answer" && { speaker }),
      timing: { turnMs, modelMs: Math.round(answer.modelMs) },
    };
    if (part.messageId !== null) {
      await platform.edit(part.messageId, message);
      return part.messageId;
    }
    const messageId = await platform.send(message);
    // The key may have returned a draft whose acknowledgement was lost: it shows an older piece.
    if (part.drafted && platform.capabilities.takesIdempotencyKeys) await platform.edit(messageId, message);
    return messageId;
  }

  #tellFailure(error: unknown, retryInMs: number | null): void {
    const kind = error instanceof PlatformError ? error.kind : "error";
    const channel = formatAddress(this.#parts.address);
    this.#parts.events.emit({ type: "delivery_failed", channel, kind, why: errorMessage(error), retryInMs });
  }
}

/** The beginning of a Markdown block, which has no effect after a name on the same line. */
const BLOCK = /^\s*(?:```|~~~|#{1,6}\s|[-*+]\s|\d+[.)]\s|>|\||\$\$)/;
/** Characters of a name that Markdown would interpret. */
const MARKUP = /[\\*_`~|<>#@]/g;

/** A text with its author's name, for a platform that shows all texts of the bot under one name. Pure. */
function underName(name: string, text: string): string {
  const shown = displayName(name).replaceAll(MARKUP, "").trim();
  if (shown === "") return text;
  return `**${shown}:**${BLOCK.test(text) ? "\n" : " "}${text}`;
}
