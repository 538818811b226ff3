import type { Logger } from "pino";
import { BackoffTimer } from "../../async/backoff.ts";
import { LONGEST_TIMER_MS } from "../../async/clock.ts";
import { retryWrite } from "../../async/retry.ts";
import { dueIdOf } from "./approval.ts";
import { errorMessage } from "../../core/errors.ts";
import { type ChannelAddress, type ChannelId, formatAddress } from "../../core/ids.ts";
import type { ApprovalRow } from "./approval-rows.ts";
import type { ApprovalStore, Decision, UnreportedDecision } from "./approval-store.ts";
import type { DueWorkDesk } from "../../channel/due-work.ts";
import type { ChannelRegistry } from "../../channel/registry.ts";
import type { Waker } from "../../channel/waker.ts";
import type { FeatureWorker } from "../feature.ts";

/** Delay between attempts while the database is away. */
const BACKOFF = { fromMs: 500, toMs: 30_000 };

export interface ApprovalDeskParts {
  readonly approvals: ApprovalStore;
  readonly registry: Pick<ChannelRegistry, "loaded">;
  readonly waker: Pick<Waker, "showBoard">;
  readonly dueWork: Pick<DueWorkDesk, "add">;
  /** Whether an agent of the configuration may ask for approvals. */
  readonly mayBeAsked: () => boolean;
  /** Whether an adapter of this process delivers to a channel. */
  readonly serves: (channel: ChannelAddress) => boolean;
  readonly log: Logger;
}

/** The result of a decision. */
export interface Decided {
  /** False: another decision, or the expiry, came first. */
  readonly isOurs: boolean;
  /** The approval's current row; null: the channel has none of this number. */
  readonly approval: ApprovalRow | null;
}

/**
 * Decides approvals, expires those that wait too long, and reports to their channels: each decision becomes one due entry, which the
 * channel answers. Unreported decisions are marked in the rows, so the next daemon reports them. One timer waits for the next expiry;
 * none runs while no approval waits.
 */
export class ApprovalDesk implements FeatureWorker, AsyncDisposable {
  readonly #parts: ApprovalDeskParts;
  readonly #retry = new BackoffTimer(BACKOFF);
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  /** Approvals of an earlier configuration may be open. */
  #hasLeft = true;
  #isDisposed = false;

  constructor(parts: ApprovalDeskParts) {
    this.#parts = parts;
  }

  /** Resumes the work of an earlier run: unreported decisions, unshown questions, expiries. */
  start(): void {
    this.#soon(async () => {
      if (!this.#parts.mayBeAsked()) this.#hasLeft = await this.#parts.approvals.hasAny();
      await this.#showAll();
    });
  }

  async #showAll(): Promise<void> {
    const { approvals, serves, waker } = this.#parts;
    for (const { channel, address } of await approvals.channelsToShow())
      if (serves(address)) void waker.showBoard(channel);
  }

  /** A turn has asked for an approval. */
  asked(channel: ChannelId): void {
    this.#parts.registry.loaded(channel)?.board.show();
    this.#soon();
  }

  /**
   * A text was deleted or edited: approvals that depend on it may be void, also in other channels where it was shown. Does nothing
   * where no approvals are in use.
   */
  changed(): void {
    if (!this.#parts.mayBeAsked() && !this.#hasLeft) return;
    this.#working = this.#working.then(async () => this.#try(async () => this.#showAll()));
  }

  /** @throws WeirError if the database does not answer: either nothing is decided, or the decision is reported later */
  async decide(channel: ChannelId, id: number, decision: Decision): Promise<Decided> {
    const { approvals } = this.#parts;
    const { result: isOurs } = await retryWrite(async () => approvals.decide(channel, id, decision));
    const approval = await approvals.find(channel, id);
    this.#soon(async () => this.#parts.waker.showBoard(channel));
    return { isOurs, approval };
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
        for (const approval of await this.#parts.approvals.unreported())
          if (this.#parts.serves(approval.address)) await this.#report(approval);
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
    const { approvals, serves } = this.#parts;
    const overdue = (await approvals.overdue()).filter(({ address }) => serves(address));
    if (overdue.length > 0) await approvals.expire(overdue.map(({ id }) => id));
  }

  async #report(approval: UnreportedDecision): Promise<void> {
    const { approvals, dueWork, waker, log } = this.#parts;
    const { id, channel, tool, state, address, decidedBy } = approval;
    const title = `approval #${id}, of ${tool}`;
    await dueWork.add(channel, {
      id: dueIdOf(id),
      title,
      text: reportText(approval),
      at: new Date(),
      agent: approval.agent ?? undefined,
      // A decision is deleted with the messages of the person who made it.
      ...(decidedBy !== null && { by: decidedBy }),
    });
    await approvals.noteReported(id);
    log.info({ channel: formatAddress(address), approval: id, tool, state }, "approval_told");
    void waker.showBoard(channel);
  }

  /** Sets the timer for the next expiry. */
  async #arm(): Promise<void> {
    const ms = await this.#parts.approvals.nextExpiry();
    clearTimeout(this.#timer);
    if (ms === null || this.#isDisposed) return;
    // Rounded up, as the database's clock has microseconds: an early timer would find nothing expired.
    const waitMs = Math.min(Math.ceil(ms) + 1, LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#soon(), waitMs);
    this.#timer.unref();
  }
}

/** The entry for the model. An allowed call runs before the model is asked. */
function reportText({ state, decidedName, tool, reason }: UnreportedDecision): string {
  const who = decidedName === "" ? "Somebody" : decidedName;
  if (state === "allowed")
    return `${who} has allowed the call of ${tool}. It is run now; its result follows.`;
  if (state === "denied")
    return `${who} has denied the call of ${tool}: it is not run.${reason === "" ? "" : ` They say: ${reason}`}`;
  return `Nobody has decided about the call of ${tool} in time. That is a denial: it is not run.`;
}
