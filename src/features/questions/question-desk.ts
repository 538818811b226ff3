import type { Logger } from "pino";
import { BackoffTimer } from "../../async/backoff.ts";
import { LONGEST_TIMER_MS } from "../../async/clock.ts";
import { retryWrite } from "../../async/retry.ts";
import { choiceOf } from "./choice.ts";
import { dueIdOf, type QuestionRow } from "./question.ts";
import { errorMessage } from "../../core/errors.ts";
import { type ChannelAddress, type ChannelId, formatAddress } from "../../core/ids.ts";
import type { Answer, Decision, QuestionStore, UnreportedDecision } from "./question-store.ts";
import type { DueWorkDesk } from "../../channel/due-work.ts";
import type { ChannelRegistry } from "../../channel/registry.ts";
import type { Waker } from "../../channel/waker.ts";
import type { FeatureWorker } from "../feature.ts";

/** Delay between attempts while the database is away. */
const BACKOFF = { fromMs: 500, toMs: 30_000 };

export interface QuestionDeskParts {
  readonly questions: QuestionStore;
  readonly registry: Pick<ChannelRegistry, "loaded">;
  readonly waker: Pick<Waker, "showBoard">;
  readonly dueWork: Pick<DueWorkDesk, "add">;
  /** Whether an agent of the configuration may ask people. */
  readonly mayBeAsked: () => boolean;
  /** Whether an adapter of this process delivers to a channel. */
  readonly serves: (channel: ChannelAddress) => boolean;
  /** Whether other daemons may ask as well. */
  readonly isClustered: boolean;
  readonly log: Logger;
}

export interface Decided {
  /** False: another decision, or the expiry, came first. */
  readonly isOurs: boolean;
  /** The question's current row; null: the channel has none of this number. */
  readonly question: QuestionRow | null;
}

/**
 * Ends questions: takes decisions and answers, expires those that wait too long, and reports to their channels. Each end becomes one due
 * entry, which the channel answers. Unreported decisions are marked in the rows, so the next daemon reports them. One timer waits for the next expiry;
 * none runs while no question waits.
 */
export class QuestionDesk implements FeatureWorker, AsyncDisposable {
  readonly #parts: QuestionDeskParts;
  readonly #retry = new BackoffTimer(BACKOFF);
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  /** Questions of an earlier configuration may be open. */
  #hasLeft = true;
  /** Questions of this database may be open. */
  #mayBeOpen = true;
  /** How often a turn has asked. */
  #asks = 0;
  #isDisposed = false;

  constructor(parts: QuestionDeskParts) {
    this.#parts = parts;
  }

  /** Resumes the work of an earlier run: unreported decisions, unshown questions, expiries. */
  start(): void {
    this.#soon(async () => {
      if (!this.#parts.mayBeAsked()) this.#hasLeft = await this.#parts.questions.hasAny();
      await this.#showAll();
    });
  }

  async #showAll(): Promise<void> {
    const { questions, serves, waker } = this.#parts;
    for (const { channel, address } of await questions.channelsToShow())
      if (serves(address)) void waker.showBoard(channel);
  }

  asked(channel: ChannelId): void {
    this.#asks++;
    this.#mayBeOpen = true;
    this.#parts.registry.loaded(channel)?.board.show();
    this.#soon();
  }

  /**
   * A text was deleted or edited: questions that depend on it may be void, also in other channels where it was shown. Does nothing
   * where no questions are in use.
   */
  changed(): void {
    if (!this.#parts.mayBeAsked() && !this.#hasLeft) return;
    this.#working = this.#working.then(async () => this.#try(async () => this.#showAll()));
  }

  /** @throws WeirError if the database does not answer: either nothing is decided, or the decision is reported later */
  async decide(channel: ChannelId, id: number, decision: Decision): Promise<Decided> {
    return this.#end(channel, id, async () => this.#parts.questions.decide(channel, id, decision));
  }

  /** @throws WeirError if the database does not answer: either nothing is chosen, or the choice is reported later */
  async answer(channel: ChannelId, id: number, answer: Answer): Promise<Decided> {
    return this.#end(channel, id, async () => this.#parts.questions.answer(channel, id, answer));
  }

  async #end(channel: ChannelId, id: number, write: () => Promise<boolean>): Promise<Decided> {
    const { result: isOurs } = await retryWrite(write);
    const question = await this.#parts.questions.find(channel, id);
    this.#soon(async () => this.#parts.waker.showBoard(channel));
    return { isOurs, question };
  }

  /**
   * The choices that somebody may make there by a plain text. The database is asked only while a question may be open: a message waits for it.
   * @throws WeirError if it does not answer
   */
  async choicesAt(address: ChannelAddress): Promise<readonly QuestionRow[]> {
    if (!this.#parts.mayBeAsked() && !this.#hasLeft) return [];
    return this.#mayBeOpen || this.#parts.isClustered ? this.#parts.questions.choicesAt(address) : [];
  }

  /** Resolves when no report is under way. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    this.#retry.cancel();
    await this.#working;
  }

  /** Queues a run over all pending work. @param first runs before it */
  #soon(first: () => Promise<void> = async () => undefined): void {
    this.#working = this.#working.then(async () =>
      this.#try(async () => {
        await first();
        await this.#expire();
        for (const question of await this.#parts.questions.unreported())
          if (this.#parts.serves(question.address)) await this.#report(question);
        await this.#arm();
      }),
    );
  }

  /** Does work; if it fails, schedules a run over all pending work. Must not throw. */
  async #try(work: () => Promise<void>): Promise<void> {
    if (this.#isDisposed) return;
    try {
      await work();
      this.#retry.succeeded();
    } catch (error) {
      if (this.#isDisposed) return;
      this.#parts.log.warn({ why: errorMessage(error), retryInMs: this.#retry.waitMs }, "approvals_wait");
      this.#retry.schedule(() => this.start());
    }
  }

  async #expire(): Promise<void> {
    const { questions, serves } = this.#parts;
    const overdue = (await questions.overdue()).filter(({ address }) => serves(address));
    if (overdue.length > 0) await questions.expire(overdue.map(({ id }) => id));
  }

  async #report(question: UnreportedDecision): Promise<void> {
    const { questions, dueWork, waker, log } = this.#parts;
    const { id, kind, channel, tool, state, address, decidedBy } = question;
    const title = kind === "choice" ? `question #${id}` : `approval #${id}, of ${tool}`;
    await dueWork.add(channel, {
      id: dueIdOf(id),
      title,
      text: reportText(question),
      at: new Date(),
      agent: question.agent ?? undefined,
      // A decision is deleted with the messages of the person who made it.
      ...(decidedBy !== null && { by: decidedBy }),
    });
    await questions.noteReported(id);
    const event = kind === "choice" ? "answer_told" : "approval_told";
    log.info({ channel: formatAddress(address), question: id, tool, state }, event);
    void waker.showBoard(channel);
  }

  /** Sets the timer for the next expiry. */
  async #arm(): Promise<void> {
    const asks = this.#asks;
    const ms = await this.#parts.questions.nextExpiry();
    if (asks === this.#asks) this.#mayBeOpen = ms !== null;
    clearTimeout(this.#timer);
    if (ms === null || this.#isDisposed) return;
    // Rounded up, as the database's clock has microseconds: an early timer would find nothing expired.
    const waitMs = Math.min(Math.ceil(ms) + 1, LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#soon(), waitMs);
    this.#timer.unref();
  }
}

/** The entry for the model. An allowed call runs before the model is asked. */
function reportText(question: UnreportedDecision): string {
  const { kind, state, decidedName, tool, reason, answer } = question;
  const who = decidedName === "" ? "Somebody" : decidedName;
  if (kind === "choice") {
    const words = choiceOf(question)?.question;
    const asked = words === undefined ? "" : `You asked: ${words}\n`;
    return state === "answered"
      ? `${asked}${who} has chosen: ${answer}`
      : `${asked}Nobody has answered in time. Go on without an answer, and say what you take for granted.`;
  }
  if (state === "allowed")
    return `${who} has allowed the call of ${tool}. It is run now; its result follows.`;
  if (state === "denied")
    return `${who} has denied the call of ${tool}: it is not run.${reason === "" ? "" : ` They say: ${reason}`}`;
  return `Nobody has decided about the call of ${tool} in time. That is a denial: it is not run.`;
}
