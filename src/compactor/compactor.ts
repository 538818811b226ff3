/**
 * Compaction: decides when a channel's older messages become summaries, and has them written and committed. The room
 * reads and writes the log through its target and the job store, and calls models only within a job; it knows no
 * platform.
 */

import type { Job, Landed, Tier, SummaryDraft } from "../core/compaction.ts";
import { errorMessage } from "../core/errors.ts";
import { StaleEpochError } from "../store/database/errors.ts";
import type { JobEnd } from "./job-runner.ts";
import type { SecondTryReason } from "./summary/second-try.ts";
import type { CompactorParts, ForcedOutcome } from "./target.ts";
import { type CompactionState, type Decision, decide, mustLand } from "./policy/policy.ts";
import { AskedWork } from "./asked.ts";
import { LookTimer } from "./look-timer.ts";
import { BackoffTimer } from "../async/backoff.ts";
import { leadTokens } from "./policy/lead.ts";
import { countLive, mustProgress, PRIORITY, priorityOf } from "./policy/priority.ts";
import type { WeirEvent } from "../telemetry/events.ts";

/** Of a slot in the queue of all channels. */
type State = { readonly kind: "idle" } | { readonly kind: "queued" } | Working;

interface Working {
  readonly kind: "working";
  /** The running job; null: it is being chosen, or its end is being recorded. */
  job: Job | null;
  /** A summariser is asked which memories have changed. */
  isRevising: boolean;
  readonly abandon: AbortController;
}

const IDLE: State = { kind: "idle" };

/**
 * Watches how full one channel's context is, decides, and runs at most one job at a time. It calls no model itself, and
 * no answer waits for it.
 *
 *   idle → (something is due) queued → working: committed | written ahead | stale | failed → idle, looks again
 *   (room is wanted) what was written ahead is committed, all together, also while a job runs
 *   failed → resting (backing off) → looks again
 */
export class ChannelCompactor {
  readonly #parts: CompactorParts;
  readonly #closing = new AbortController();
  readonly #modelBackoff: BackoffTimer;
  readonly #databaseBackoff: BackoffTimer;
  /** The log may have a live job that nobody works on: an earlier owner's, or one that a database failure interrupted. */
  #isLeftOver: boolean;
  #state: State = IDLE;
  /** Resolves when no job is under way. */
  #worked: Promise<void> = Promise.resolve();
  #isFinishing = false;
  #blocked: string | null = null;
  /** Duration of the last job whose summary a model wrote, ms. */
  #lastJobMs = 0;
  /** The tier of the last leaf, if its calls sufficed only for the beginning of its range. */
  #cutShort: Tier | null = null;
  /** Memories were committed of which no summariser was asked yet whether they change older ones. */
  #hasUnjudged = false;
  readonly #asked = new AskedWork();
  readonly #looks: LookTimer;

  /** @param isLeftOver the log has a live job of this channel */
  constructor(parts: CompactorParts, isLeftOver: boolean) {
    this.#parts = parts;
    this.#isLeftOver = isLeftOver;
    this.#looks = new LookTimer(parts.timing.lookEveryMs, async () => this.#look());
    this.#modelBackoff = new BackoffTimer(parts.timing.modelBackoff);
    this.#databaseBackoff = new BackoffTimer(parts.timing.databaseBackoff);
  }

  /** Nothing is queued, running or being checked. A back-off does not count: the channel may be unloaded meanwhile. */
  get isIdle(): boolean {
    return this.#state.kind === "idle" && this.#looks.isIdle;
  }

  /** The view is nearly full, and a compaction is under way: optional work should wait. */
  get isMakingRoom(): boolean {
    const { target } = this.#parts;
    return !this.isIdle && target.lacksRoom(target.history.current);
  }

  get isRunning(): boolean {
    return this.#state.kind === "working";
  }

  /** Call it after a change. Checks soon, outside the caller's path, whether a compaction is due. */
  consider(): void {
    if (this.#isEnding || this.#looks.isWaiting) return;
    const { target } = this.#parts;
    const isAsked = this.#isLeftOver || this.#asked.isAny || this.#cutShort !== null || this.#hasUnjudged;
    if (isAsked || target.mayBeFull(target.history.current)) this.#looks.start();
  }

  /**
   * Compacts all that may be compacted, at any usage; never rejects.
   * @param focus a person's words for the most important content; default: none
   */
  async force(focus = ""): Promise<ForcedOutcome> {
    if (this.#isEnding) return CHANNEL_CLOSES;
    const answer = this.#asked.force(focus);
    this.consider();
    return answer;
  }

  /** Writes a live summary again, whatever else is due; never rejects. */
  async redo(range: NonNullable<CompactionState["redoOf"]>): Promise<ForcedOutcome> {
    if (this.#isEnding) return CHANNEL_CLOSES;
    const answer = this.#asked.redo(range);
    this.consider();
    return answer;
  }

  /**
   * Aborts the attempt if a reset or a deletion has ended its job in the log, and a request that shows memories: they may rest on what was
   * deleted. Never rejects.
   */
  async recheck(): Promise<void> {
    if (this.#putOffRevision()) return;
    const state = this.#state;
    if (state.kind !== "working" || state.job === null) return;
    // If the log cannot be asked, the attempt goes on: the commit refuses what has ended.
    const isLive = await this.#parts.jobs.isLive(state.job).catch(() => true);
    if (!isLive) state.abandon.abort();
  }

  /** Aborts a request about changed memories; it is made again when nothing else is due. @returns false: there is none */
  #putOffRevision(): boolean {
    const state = this.#state;
    if (state.kind !== "working" || !state.isRevising) return false;
    this.#hasUnjudged = true;
    state.abandon.abort();
    return true;
  }

  /** Resolves when no job is due, running or waiting for a slot. */
  async idle(): Promise<void> {
    while (!this.isIdle) {
      await (this.isRunning ? this.#worked : this.#looks.looked());
    }
  }

  /** Begins no further job. Resolves when the running one has ended. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    await this.#stop();
  }

  async #stop(): Promise<void> {
    await this.#looks.stop();
    await this.#worked;
  }

  get #isRevising(): boolean {
    return this.#state.kind === "working" && this.#state.isRevising;
  }

  get #isEnding(): boolean {
    return this.#isFinishing || this.#closing.signal.aborted;
  }

  /** Aborts the running attempt. Its row stays: the channel's next owner resumes it. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#modelBackoff.cancel();
    this.#databaseBackoff.cancel();
    this.#asked.fail("the channel is being closed");
    await this.#stop();
  }

  async #look(): Promise<void> {
    try {
      // Summaries written ahead land first. Neither this nor an emergency omission waits for a job.
      await this.#landInNeed();
      await this.#parts.target.relieve();
      // A summary makes room, and a revision can wait.
      if (this.#isRevising && (await this.#decide()).kind === "job") this.#putOffRevision();
      if (this.#state.kind !== "idle" || this.#databaseBackoff.isWaiting) return;
      if (this.#isLeftOver) return this.#enqueue(PRIORITY.leftOver);
      const decision = await this.#decide();
      if (decision.kind === "land") await this.#commitAhead();
      else if (decision.kind === "job") this.#enqueue(priorityOf(decision.plan, decision.liveSummaries));
      else if (this.#isCircuitOpen && !this.#modelBackoff.isWaiting) this.#backOff();
      else if (this.#hasUnjudged && !this.#isCircuitOpen) this.#enqueue(PRIORITY.revision);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #landInNeed(): Promise<void> {
    const { ahead } = this.#parts.target.history.current;
    const isWriting = this.#state.kind === "working" && this.#state.job?.isAhead === true;
    if (ahead.length > 0 && mustLand(await this.#compactionState(), isWriting)) await this.#commitAhead();
  }

  /** Commits the summaries written ahead, and checks again, since more may be due. */
  async #commitAhead(): Promise<void> {
    const { target } = this.#parts;
    const startedAt = performance.now();
    const landed = await target.history.commitAhead();
    this.landed(landed, Math.round(performance.now() - startedAt));
    this.consider();
  }

  /** Reports summaries written ahead that have landed, here or on the reply path. */
  landed(landed: readonly Landed[], ms: number): void {
    const { target } = this.#parts;
    for (const { job, summary, memories } of landed) {
      this.#tell(job, { phase: "committed", ms, summary, memories });
      this.#hasUnjudged ||= memories > 0;
    }
    const leafs = landed.filter(({ job }) => job.kind === "leaf");
    const last = leafs.at(-1);
    if (last === undefined) return;
    const fromSeq = leafs[0]?.job.fromSeq ?? last.job.fromSeq;
    const messages = target.history.current.summaries
      .filter((one) => one.fromSeq >= fromSeq && one.toSeq <= last.job.toSeq)
      .reduce((sum, { span }) => sum + (span?.messages ?? 0), 0);
    target.onCommitted({ ...last.job, fromSeq }, messages);
    this.#asked.landed({ kind: "committed", job: { ...last.job, fromSeq }, summary: last.summary, ms });
  }

  /**
   * The back-off is over: checks again. While the circuit is open, starts another back-off instead, since nothing else
   * would check before the next message.
   */
  #rested(): void {
    if (this.#closing.signal.aborted) return;
    if (this.#isCircuitOpen) this.#backOff();
    else this.consider();
  }

  /** Restarts a pending back-off: the newest failure counts. */
  #backOff(): void {
    this.#modelBackoff.cancel();
    this.#modelBackoff.schedule(() => this.#rested());
  }

  get #isCircuitOpen(): boolean {
    const { breaker, summarisers } = this.#parts;
    return !summarisers.some((name) => breaker.mayTry(name));
  }

  /** Decides by the current state. If a forced compaction is impossible, its caller is answered. */
  async #decide(): Promise<Decision & { readonly liveSummaries: number }> {
    const { target, events } = this.#parts;
    const state = await this.#compactionState();
    const decision = (this.#parts.decide ?? decide)(state);
    if (decision.kind === "idle" && !state.isResting) this.#cutShort = null;
    if (state.redoOf !== null) {
      // Other due work is decided after the person has an answer.
      if (decision.kind === "blocked") {
        this.#asked.answerRedo({ kind: "nothing", reason: decision.reason });
        this.consider();
      }
    } else if (decision.kind === "blocked") {
      const { tier, reason } = decision;
      // Reported once; a change of a number in it is no news.
      const news = `${tier} ${reason.replaceAll(/\d+/g, "")}`;
      if (this.#blocked !== news)
        events.emit({ type: "compaction_blocked", channel: target.channel, tier, reason });
      this.#blocked = news;
      this.#asked.answerForced({ kind: "nothing", reason });
    } else this.#blocked = null;
    if (decision.kind === "idle")
      this.#asked.answerForced({ kind: "nothing", reason: "there is nothing to summarise" });
    return { ...decision, liveSummaries: countLive(state.history) };
  }

  async #compactionState(): Promise<CompactionState> {
    const { target } = this.#parts;
    const history = await target.history.snapshot();
    const measured = target.measure(history);
    return {
      ...measured,
      history,
      leadTokens: leadTokens(history, this.#lastJobMs, measured.stretchTokens),
      isForced: this.#asked.isForced,
      redoOf: this.#asked.redoOf,
      isResting: this.#modelBackoff.isWaiting || this.#isCircuitOpen,
      cutShort: this.#cutShort,
    };
  }

  #enqueue(priority: number): void {
    this.#state = { kind: "queued" };
    this.#parts.queue.add({
      owner: this,
      priority,
      run: async () => {
        this.#state = IDLE;
        if (this.#isEnding) return;
        const working: Working = {
          kind: "working",
          job: null,
          isRevising: false,
          abandon: new AbortController(),
        };
        this.#state = working;
        this.#worked = this.#work(working);
        await this.#worked;
        this.#state = IDLE;
        // A threshold may have been crossed meanwhile.
        this.consider();
      },
    });
  }

  /** Runs one job to its end. The decision is made anew: it may have changed while the job waited for its slot. Does not throw. */
  async #work(working: Working): Promise<void> {
    try {
      const { jobs, target } = this.#parts;
      let job: Job | null = null;
      if (this.#isLeftOver) {
        job = await jobs.take(target.owner);
        // The log may have a commit that memory lacks.
        if (job === null) await target.history.reload();
        this.#isLeftOver = false;
      }
      if (job === null) {
        const decision = await this.#decide();
        if (decision.kind !== "job") return await this.#revise(working);
        this.#isLeftOver = true;
        job = await jobs.begin(target.owner, decision.plan);
        this.#isLeftOver = false;
      }
      await this.#run(job, working);
      this.#databaseBackoff.succeeded();
      this.#databaseBackoff.cancel();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Asks once for what was committed last: a model that fails is asked with the next memories. */
  async #revise(working: Working): Promise<void> {
    if (!this.#hasUnjudged) return;
    this.#hasUnjudged = false;
    working.isRevising = true;
    const { reviser, target } = this.#parts;
    const signal = AbortSignal.any([this.#closing.signal, working.abandon.signal]);
    await reviser.revise(target.owner.channel, signal).finally(() => (working.isRevising = false));
  }

  async #run(job: Job, working: Working): Promise<void> {
    const { target, runner } = this.#parts;
    const startedAt = performance.now();
    const history = await target.history.snapshot();
    const { kind, tier } = job;
    this.#tell(job, { phase: "started" });
    const { abandon } = working;
    working.job = job;
    const secondTries: SecondTryReason[] = [];
    const end = await runner
      .run(job, {
        history,
        lengths: target.summaryLengths(history, job),
        mustProgress: mustProgress(job, countLive(history)),
        focus: tier === "forced" && kind === "leaf" ? this.#asked.focus : "",
        signal: AbortSignal.any([this.#closing.signal, abandon.signal]),
        onSecondTry: (reason) => void secondTries.push(reason),
        commit: async (staged, maker) => target.history.commit(staged, maker),
        stageAhead: async (written, result) => target.history.stageAhead(written, result),
      })
      .finally(() => (working.job = null));
    if (end.kind === "left" && !abandon.signal.aborted) return;
    const ms = Math.round(performance.now() - startedAt);
    if ("summary" in end && end.summary.kind === "model") this.#lastJobMs = ms;
    switch (end.kind) {
      case "committed":
        this.#tell(end.job, {
          phase: "committed",
          ms,
          summary: end.summary,
          memories: end.memories,
          secondTries,
        });
        this.#landed(end, ms);
        // A waiting merge lands with it: the prefix changes anyway.
        if (job.kind === "leaf" && target.history.current.ahead.length > 0) await this.#commitAhead();
        return;
      case "written":
        this.#tell(end.job, { phase: "written", ms, summary: end.summary, secondTries });
        this.#modelBackoff.succeeded();
        this.#modelBackoff.cancel();
        return;
      case "left":
      case "stale":
        this.#tell(end.kind === "left" ? job : end.job, {
          phase: "stale",
          ms,
          reason: "its range is not what it was",
          secondTries,
        });
        // A decision from stale memory would waste the next job's model calls, too.
        await target.history.reload();
        return;
      case "failed":
        this.#tell(end.job, { phase: "failed", ms, reason: end.reason, secondTries });
        // Answers a forced compaction now; another one does not wait for the back-off.
        if (job.tier === "forced") this.#asked.ended(job, { kind: "failed", reason: end.reason });
        this.#backOff();
    }
  }

  /** Emits an event for a step of a job. */
  #tell(
    { id, kind, tier, fromSeq, toSeq, sourceTokens }: Job,
    { phase, ms = 0, summary, memories = 0, reason, secondTries = [] }: JobNews,
  ): void {
    const { events, target } = this.#parts;
    events.emit({
      type: "compaction",
      channel: target.channel,
      job: id,
      phase,
      kind,
      tier,
      fromSeq,
      toSeq,
      tokensBefore: sourceTokens,
      tokensAfter: summary?.tokens ?? null,
      memories,
      model: summary === undefined ? null : (summary.model ?? summary.kind),
      ms,
      reason: reason ?? null,
      ...(secondTries.length > 0 && { secondTries }),
    });
  }

  #landed(end: Extract<JobEnd, { kind: "committed" }>, ms: number): void {
    this.#hasUnjudged ||= end.memories > 0;
    // A digest means that the model failed, so work that can wait backs off. A final digest is never written again.
    if (end.summary.kind !== "digest") {
      this.#modelBackoff.succeeded();
      this.#modelBackoff.cancel();
    } else if (end.summary.isFinal !== true) this.#backOff();
    if (end.job.kind === "leaf") {
      this.#cutShort = end.isCutShort ? end.job.tier : null;
      const { summaries } = this.#parts.target.history.current;
      const made = summaries.find(({ toSeq }) => toSeq === end.job.toSeq);
      this.#parts.target.onCommitted(end.job, made?.span?.messages ?? 0);
    }
    if (end.job.tier === "forced")
      this.#asked.ended(end.job, { kind: "committed", job: end.job, summary: end.summary, ms });
  }

  #failed(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    if (error instanceof StaleEpochError) {
      this.#parts.target.onLost(error);
      return;
    }
    // The log has the job's progress: it is resumed from there.
    this.#isLeftOver = true;
    const { channel } = this.#parts.target;
    this.#parts.events.emit({ type: "compaction_interrupted", channel, why: errorMessage(error) });
    this.#asked.fail("the database was away");
    this.#databaseBackoff.schedule(() => this.consider());
  }
}

const CHANNEL_CLOSES: ForcedOutcome = { kind: "failed", reason: "the channel is being closed" };

interface JobNews {
  readonly phase: Extract<WeirEvent, { type: "compaction" }>["phase"];
  /** Duration in this process; default: 0. */
  readonly ms?: number;
  readonly summary?: SummaryDraft;
  /** Number of memories committed with it; default: none. */
  readonly memories?: number;
  /** Why it ended without a summary. */
  readonly reason?: string;
  /** Why its summaries were asked for once more; default: none was. */
  readonly secondTries?: readonly SecondTryReason[];
}
