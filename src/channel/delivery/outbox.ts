import PQueue from "p-queue";
import type { TurnRange } from "../../core/history.ts";
import { type AgentId, formatAddress, type Owner, type Seq, type TurnId } from "../../core/ids.ts";
import { backoffMs } from "../../async/backoff.ts";
import type { OutboundFile } from "../../core/message.ts";
import { answerFile, beginningOf } from "../../core/attached-file.ts";
import { splitText } from "../../text/split-message.ts";
import type { Delivery, DeliveryStore, PendingAnswer, OrphanedDraft } from "../../store/turns/deliveries.ts";
import { StaleEpochError } from "../../store/database/errors.ts";
import { Draft } from "./draft.ts";
import { pause, steadyNow } from "../../async/clock.ts";
import { displayName } from "../../text/text.ts";
import { BACKOFF, type Insist, Insister, type InsisterParts } from "./insist.ts";
import { LossReport } from "./loss-report.ts";
import { type PartEnd, PartSender, type SentAnswer } from "./part-sender.ts";

export interface OutboxParts extends Pick<InsisterParts, "address" | "platform" | "events" | "onLost"> {
  readonly owner: Owner;
  readonly streams: boolean;
  readonly deliveries: DeliveryStore;
  readonly nameOf: (agent: AgentId) => string;
  /** The platform's ids of the people who run Weir; default: nobody is named. */
  readonly owners?: () => readonly string[];
  /** Files of a turn's answer; null: they were deleted. */
  readonly filesOf: (turn: TurnId) => Promise<readonly OutboundFile[] | null>;
  /** Called with the seq of a notice in the log: people have not seen an answer whole. Default: nobody reads it here. */
  readonly onNoticed?: (seq: Seq) => void;
}

/** The author of a text; no agent: the channel's own. */
type Speaks = Pick<TurnRange, "agent">;

interface Delivered {
  /** The acknowledgements: the platform's ids, or null. */
  readonly notes: readonly Promise<string | null>[];
  readonly isWhole: boolean;
}

/**
 * Delivers a channel's answers to its platform, in order. "Sent" means acknowledged by the platform. A part is sent again with the same
 * idempotency key until the platform accepts it, and in other forms if it is refused (`part-sender.ts`); turns do not wait.
 *
 * A part: pending → sent; or failed, if the platform refuses it in each form, once people and the agent are told; or left pending until
 * `recover`, while no platform serves the channel (its terminal was closed). An orphaned draft (its turn ended without an answer):
 * pending → failed, once the platform has deleted it.
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
  readonly #insister: Insister;
  readonly #sender: PartSender;
  readonly #report: LossReport;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    const { signal } = this.#closing;
    const insister = new Insister({ ...parts, signal });
    this.#insister = insister;
    this.#sender = new PartSender({ ...parts, insister, signal });
    const { owners = () => [], onNoticed = () => undefined } = parts;
    this.#report = new LossReport({ ...parts, owners, onNoticed });
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
  split(
    { text, kind, asFile }: Pick<PendingAnswer, "text" | "asFile"> & { readonly kind: string },
    by: Speaks,
  ): string[] {
    const { platform } = this.#parts;
    const said = asFile === true ? beginningOf(text) : text;
    // A notice is by Weir, not by an agent.
    const shown = kind === "notice" ? said : this.#signed(by)(said);
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
      const delivered = await this.#deliverAll(answer, knownAt);
      const noted = this.#noted(answer, delivered);
      this.#notes.add(noted);
      void noted.finally(() => this.#notes.delete(noted));
    });
  }

  /** Reports a delivered answer once its acknowledgements are in the log. */
  async #noted(
    { turnId, acceptedAt, inReplyTo }: PendingAnswer,
    { notes, isWhole }: Delivered,
  ): Promise<void> {
    const turnMs = Math.round(steadyNow() - acceptedAt.getTime());
    const messageIds = (await Promise.all(notes)).filter((id) => id !== null);
    this.#underWay.delete(turnId);
    if (!isWhole || messageIds.length < notes.length) return;
    const channel = formatAddress(this.#parts.address);
    this.#parts.events.emit({
      type: "reply_delivered",
      channel,
      turn: turnId,
      parts: messageIds.length,
      turnMs,
      inReplyTo,
      messageIds,
    });
  }

  /** Does other work at the platform, in order with the answers. @param work must not throw */
  add(work: (insist: Insist) => Promise<void>): void {
    void this.#queue.add(async () => work(this.#insister.insist));
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
      const done = await this.#insister.insist(async () => platform.remove?.(address, messageId));
      if (done !== "left" && id !== null) await this.#fail([{ id }], "withdrawn");
      this.#leaving.delete(messageId);
    });
  }

  /** Ends all waiting; what is not sent stays pending in the log. */
  close(): void {
    this.#closing.abort();
    this.#queue.clear();
  }

  /** @param knownAt when this daemon was known to own the channel */
  async #deliverAll(answer: PendingAnswer, knownAt: number): Promise<Delivered> {
    const texts = this.split(answer, answer);
    const sent: SentAnswer = { ...answer, texts, knownAt, speaker: this.#speaker(answer) };
    const { insist } = this.#insister;
    const notes: Promise<string | null>[] = [];
    const lost: Delivery[] = [];
    let isTold = false;
    const left = [...answer.parts];
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      const end = await this.#send(part, sent);
      switch (end.kind) {
        case "sent":
          notes.push(this.#note(end.part, end.messageId));
          break;
        case "instead":
          left.unshift(...end.parts);
          break;
        case "refused": {
          const isTaken = lost.length > 0 || (await this.#report.tellChannel(end.part, sent, insist));
          if (isTaken === null) return { notes, isWhole: false };
          isTold = isTaken;
          // A channel that takes no word either takes nothing.
          lost.push(end.part, ...(isTold ? [] : left.splice(0)));
          break;
        }
        case "gone":
          lost.push(end.part, ...left.splice(0));
          break;
        case "withdrawn":
          await this.#fail([end.part, ...left.splice(0)], "withdrawn");
          return { notes, isWhole: false };
        case "left":
          return { notes, isWhole: false };
      }
    }
    const [first] = lost;
    if (first === undefined) return { notes, isWhole: true };
    const isTaken = isTold;
    const isKnown = isTaken || (await this.#report.tellOwners(first, sent, insist));
    if (isKnown) await insist(async () => this.#report.note(lost, sent, isTaken));
    return { notes, isWhole: false };
  }

  async #send(part: Delivery, answer: SentAnswer): Promise<PartEnd> {
    if (part.part < answer.texts.length) return this.#sender.send(part, answer);
    const file = await this.#fileOf(answer, part);
    if (file === "left") return { kind: "left" };
    return file === "gone" ? { kind: "withdrawn", part } : this.#sender.send(part, { ...answer, file });
  }

  /** The file of a part behind the texts; `gone`: it was deleted. */
  async #fileOf(answer: SentAnswer, { part }: Delivery): Promise<OutboundFile | "gone" | "left"> {
    const { turnId, text, texts, asFile = false } = answer;
    const index = part - texts.length;
    if (asFile && index === 0) return answerFile(text);
    const found = await this.#insister.insist(async () => this.#parts.filesOf(turnId));
    if (typeof found === "string") return "left";
    return found.result?.[asFile ? index - 1 : index] ?? "gone";
  }

  /** Records in the log that a part was sent, with retries. Must not throw. @returns the id; null: it is left to the next owner */
  async #note({ id, leftover }: Delivery, messageId: string): Promise<string | null> {
    const { owner, deliveries, onLost, platform, address } = this.#parts;
    // Before the note: whoever resumes after it does not know of that message.
    if (leftover !== null && leftover !== messageId) {
      const done = await this.#insister.insist(async () => platform.remove?.(address, leftover));
      if (done === "left") return null;
    }
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
        this.#insister.tellFailure(error, waitMs);
        if (this.#closing.signal.aborted) return null;
        await pause(waitMs, this.#closing.signal);
      }
    }
  }

  async #fail(parts: readonly Pick<Delivery, "id">[], reason: string): Promise<void> {
    try {
      for (const part of parts) await this.#parts.deliveries.failed(this.#parts.owner, part.id, reason);
    } catch (error) {
      // They stay pending, and the next owner tries again.
      this.#insister.tellFailure(error, null);
    }
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
