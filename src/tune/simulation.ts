/**
 * Tuning: replays a channel's log with other settings, and compares the outcomes. The room reads the store and runs the
 * pure deciders; it writes nothing and calls no model.
 */

import {
  lengthsOfSummary,
  knownRequest,
  mayBeFull,
  measureHistory,
  expectedRecall,
  type RequestSize,
  sizeOfRequest,
  sizeWithoutEntries,
} from "../channel/compaction/compaction-target.ts";
import { RAW_SHARE } from "../compactor/job-runner.ts";
import { leadTokens } from "../compactor/policy/lead.ts";
import { type CompactionState, decide, mustLand } from "../compactor/policy/policy.ts";
import { assemble, type ContextSources } from "../context/assemble.ts";
import { type Fit, fitContext } from "../context/emergency.ts";
import { SUMMARY_LABEL_TOKENS } from "../context/render.ts";
import {
  type Budget,
  extractTokens,
  keptForRecall,
  lastingDynamicTokens,
  partAt,
  tokenBudgetAt,
  usableTokens,
} from "../context/usage.ts";
import type { JobPlan } from "../core/compaction.ts";
import type { Entry, EntryReference, RememberedStatement } from "../core/entry.ts";
import { answeredMessages, type History, rawFrom, type TurnRange } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { Pace } from "../core/pace.ts";
import type { PastTurn, SummaryLengths } from "../store/turns/past.ts";
import type { CacheTerms } from "../llm/caches/terms.ts";
import { type Agent, cacheOf } from "../turn/agent.ts";
import { EXTRACT_FRAME_TOKENS } from "../turn/turn-contexts.ts";
import {
  contextSources,
  NOTHING_ATTACHED,
  nextSources,
  type OmittedExtract,
  type Scene,
} from "../turn/context-sources.ts";
import type { PlannedSummary } from "./coverage.ts";
import { fillerText, summaryTokens } from "./lengths.ts";
import { SimulatedHistory } from "./simulated-history.ts";
import { type Outcome, Tally, type Visible, type VisibleRange } from "./tally.ts";

export interface SimulationParts {
  /** With the settings to try. */
  readonly agent: Agent;
  /** Without an anchor, since the provider has counted other requests than the simulated ones. */
  readonly budget: Budget;
  readonly scene: Scene;
  /** The first replayed entry; earlier ones are unknown. */
  readonly from: Seq;
  readonly lengths: readonly SummaryLengths[];
  /** Duration of a summary, ms of the channel's own time. */
  readonly summariserMs: number;
  /** The last entry that each `/reset` covered, in order. */
  readonly resets: readonly Seq[];
  /** The turn to examine; default: none. */
  readonly at?: At;
  /** Replaces the policy's decision. */
  readonly decide?: typeof decide;
  /** Called with each request before it is sent. */
  readonly onRequest?: (fit: Fit, turn: TurnRange) => void;
}

/** A turn by its number, or the first one that answers up to this entry or a later one. */
export type At = { readonly turn: number } | { readonly seq: Seq };

/** A turn to repeat, with its former search results. */
export interface ReplayedTurn {
  readonly turn: Pick<PastTurn, "id" | "fromSeq" | "toSeq" | "agent" | "state" | "lastSeq">;
  readonly recalled: readonly EntryReference[];
  readonly remembered: readonly RememberedStatement[];
}

interface RunningJob extends PlannedSummary {
  /** When it ends, ms since 1970. */
  readonly endsAt: number;
}

/** Raw entries up to which the compactor checks after each entry. A longer view has this many checks over its length. */
const LONG_VIEW = 600;
/** Most jobs that may end between two entries, or after the last one. */
const MOST_JOBS = 1000;

/**
 * Replays a channel's log through the deciders of a running Weir (policy, cut, merges, emergency, the requests of
 * turns), without a log, a model or a clock: time is that of the entries. It writes nothing.
 *
 * Turns run at their original places; other agents' turns send no request of this one. A summariser always works and
 * takes `summariserMs`; the length of its texts is estimated ({@link summaryTokens}). A turn finds what it found
 * originally, unless that is in its view.
 */
export class Simulation {
  readonly #parts: SimulationParts;
  readonly #tally = new Tally();
  readonly #turns: ReplayedTurn[] = [];
  readonly #resets: Seq[];
  readonly #past: SimulatedHistory;
  #running: ReplayedTurn | null = null;
  readonly #pace = new Pace();
  /** The running turn's calls without a result. */
  readonly #open = new Set<string>();
  #job: RunningJob | null = null;
  #jobMs = 0;
  /** Entries since the last check. */
  #unseen = 0;
  #dynamicTokens = 0;
  /** Of the last measured request. */
  #measured: {
    readonly history: History;
    readonly running: ReplayedTurn | null;
    readonly size: RequestSize;
  } | null = null;
  /** ms since 1970. */
  #now = 0;
  /** Estimated tokens of all entries up to each, from the first one played. */
  readonly #tokensTo: number[] = [];
  #visible: Visible | null = null;
  /** The size of the parts that each request has, whatever its entries. */
  #everyRequest: RequestSize | null = null;

  constructor(parts: SimulationParts) {
    this.#parts = parts;
    this.#past = new SimulatedHistory(parts.from, this.#tally);
    this.#resets = parts.resets.filter((seq) => seq >= parts.from);
  }

  get history(): History {
    return this.#past.current;
  }

  /** The view of the requested turn; null: not reached yet. */
  get visible(): Visible | null {
    return this.#visible;
  }

  get outcome(): Outcome {
    const { budget } = this.#parts;
    return this.#tally.outcome(this.history, budget.calibration.factor, usableTokens(budget));
  }

  /** The next turns, in the order of their beginning. Call it before the last message that each answers. */
  expect(turns: readonly ReplayedTurn[]): void {
    this.#turns.push(...turns);
  }

  take(entry: Entry): void {
    const now = Math.max(this.#now, entry.at.getTime());
    this.#endJobs(now);
    this.#now = now;
    this.#past.append(entry);
    this.#tokensTo.push((this.#tokensTo.at(-1) ?? 0) + entry.tokens);
    const { requests } = this.#tally;
    this.#goOn(entry);
    this.#beginTurns();
    if (this.#tally.requests > requests || this.#isTimeToLook()) this.#look();
    while (this.#resets[0] !== undefined && this.#resets[0] <= entry.seq)
      this.#reset(this.#resets.shift() ?? 0);
  }

  /** The log ends here: summaries in progress are still committed. */
  end(): void {
    for (let jobs = 0; this.#job !== null && jobs < MOST_JOBS; jobs++) this.#endJobs(this.#job.endsAt);
  }

  /** Continues the running turn once its last call has its result; ends it with its last entry. */
  #goOn(entry: Entry): void {
    const running = this.#running;
    if (running === null) return;
    const isOwn = "turnId" in entry && entry.turnId === running.turn.id;
    if (isOwn && entry.kind === "tool_call") for (const { id } of entry.calls) this.#open.add(id);
    if (isOwn && entry.kind === "tool_result") this.#open.delete(entry.callId);
    const isLast = entry.seq >= (running.turn.lastSeq ?? 0);
    const isAskedAgain = isOwn && entry.kind === "tool_result" && this.#open.size === 0;
    if (isAskedAgain && running.turn.agent === undefined && !(isLast && running.turn.state === "skipped"))
      this.#ask(running, false);
    if (isLast) this.#settle(running);
  }

  #beginTurns(): void {
    for (let next = this.#turns[0]; next !== undefined && this.#running === null; next = this.#turns[0]) {
      const { turn } = next;
      if (turn.toSeq > this.history.lastSeq) return;
      this.#turns.shift();
      this.#running = next;
      this.#open.clear();
      if (turn.agent !== undefined) this.#tally.turnsOfOthers++;
      else if (answeredMessages(this.history, turn).length > 0) this.#ask(next, true);
      if ((turn.lastSeq ?? 0) <= this.history.lastSeq) this.#settle(next);
    }
  }

  #settle({ turn }: ReplayedTurn): void {
    this.#past.settle(turn.toSeq);
    this.#running = null;
  }

  /** One request of a turn, as `turn/turn.ts` makes it. */
  #ask(replayed: ReplayedTurn, isFirst: boolean): void {
    if (isFirst && this.#cache()?.isCold === true) this.#past.land();
    let fit = this.#fit(replayed);
    if (fit.omitTo !== null && this.#past.land()) fit = this.#fit(replayed);
    if (fit.omitTo !== null) {
      this.#past.omit(fit.omitTo);
      fit = this.#withExtract(replayed, fit);
    }
    const { context, overflows } = fit;
    const { omission } = this.history;
    this.#pace.note(replayed.turn.id, this.#now);
    if (isFirst) {
      this.#tally.turns++;
      this.#tally.turnsWithHole += Number(omission !== null);
      this.#lookAt(replayed, fit);
    }
    this.#tally.mostOmitted = Math.max(this.#tally.mostOmitted, omission?.count ?? 0);
    this.#tally.overflows += Number(overflows);
    this.#parts.onRequest?.(fit, replayed.turn);
    // Such a turn fails with a notice, and sends nothing.
    if (overflows) return;
    this.#dynamicTokens = lastingDynamicTokens(context);
    this.#tally.request(context);
  }

  #fit(replayed: ReplayedTurn): Fit {
    return fitContext(this.#sourcesOf(replayed), this.#parts.budget);
  }

  #sourcesOf({ turn, recalled, remembered }: ReplayedTurn): ContextSources {
    const { agent, scene, budget } = this.#parts;
    const hiddenTo = rawFrom(this.history) - 1;
    return contextSources(agent, {
      history: this.history,
      turn,
      recalled: recalled.filter(({ seq }) => seq <= hiddenTo),
      remembered: hiddenTo === 0 ? [] : remembered,
      attached: NOTHING_ATTACHED,
      extract: this.#extract(),
      channelFiles: [],
      activeTexts: [],
      waitedFor: [],
      isUnfound: false,
      now: new Date(this.#now),
      scene,
      usable: usableTokens(budget),
      usableEstimated: partAt(budget, 1),
    });
  }

  /** A stand-in for the extract of the omitted range, of the longest allowed length. */
  #extract(): OmittedExtract | null {
    const { omission } = this.history;
    if (omission === null) return null;
    const tokens = Math.min(extractTokens(this.#parts.budget), Math.max(1, omission.tokens));
    return { toSeq: omission.toSeq, text: fillerText(tokens), tokens };
  }

  #withExtract(replayed: ReplayedTurn, fit: Fit): Fit {
    const { budget } = this.#parts;
    const limit = tokenBudgetAt(budget, budget.emergencyThreshold);
    const extract = this.#extract();
    if (extract === null || fit.context.tokens + extract.tokens + EXTRACT_FRAME_TOKENS >= limit) return fit;
    const longer = this.#fit(replayed);
    return longer.omitTo === null ? longer : fit;
  }

  /** A view of thousands of entries is not measured at each one, which adds little. */
  #isTimeToLook(): boolean {
    this.#unseen++;
    return this.#unseen > this.history.entries.length / LONG_VIEW;
  }

  /** The compactor's check after each change. */
  #look(): void {
    this.#unseen = 0;
    while (this.#mayBeDue()) {
      if (this.history.ahead.length > 0 && mustLand(this.#state(), this.#job?.plan.isAhead === true))
        this.#past.land();
      this.#relieve();
      if (this.#job !== null) return;
      const decision = (this.#parts.decide ?? decide)(this.#state());
      if (decision.kind === "job") return this.#begin(decision.plan);
      if (decision.kind !== "land" || !this.#past.land()) return;
    }
  }

  #mayBeDue(): boolean {
    const { agent, budget } = this.#parts;
    const size = (this.#everyRequest ??= sizeWithoutEntries(this.#nextSources()));
    const { fixed } = size;
    const everyRequest = fixed + size.dynamic + this.#expectedRecall(size);
    return mayBeFull(
      this.history,
      knownRequest(agent.config.compaction, { everyRequest, fixed }, () => budget),
    );
  }

  #nextSources(): ContextSources {
    const { agent, scene, budget } = this.#parts;
    const now = new Date(this.#now);
    const running = this.#running?.turn ?? null;
    return nextSources(agent, this.history, { running, now, scene, usable: usableTokens(budget) });
  }

  /** The size of the next request without its recall. */
  #nextSize(): RequestSize {
    const [history, running] = [this.history, this.#running];
    if (this.#measured?.history !== history || this.#measured.running !== running) {
      const size = sizeOfRequest(assemble(this.#nextSources()));
      this.#measured = { history, running, size };
      this.#everyRequest = size;
    }
    return this.#measured.size;
  }

  #expectedRecall(size: Pick<RequestSize, "dynamic">): number {
    const { agent, budget } = this.#parts;
    const kept = keptForRecall(agent.config.memory, this.history, () => budget);
    return expectedRecall(size, { dynamicTokens: this.#dynamicTokens }, kept);
  }

  #state(): CompactionState {
    const { agent, budget } = this.#parts;
    const running = this.#running?.turn ?? null;
    const size = this.#nextSize();
    const recall = this.#expectedRecall(size);
    const measured = measureHistory(agent, this.history, {
      limits: budget,
      tokens: size.all + recall,
      recallTokens: recall,
      running,
      fixed: this.#everyRequest?.fixed ?? 0,
      cache: this.#cache(),
    });
    return {
      ...measured,
      history: this.history,
      leadTokens: leadTokens(this.history, this.#jobMs, measured.stretchTokens),
      isForced: false,
      isResting: false,
      cutShort: null,
      redoOf: null,
    };
  }

  #cache(): CacheTerms | undefined {
    const { agent } = this.#parts;
    const name = agent.models.nameOf(agent.config.model);
    return name === undefined
      ? undefined
      : cacheOf(agent, name, this.#pace, this.#now, this.#running?.turn.id);
  }

  /** The emergency between turns: a running turn fits its own requests. */
  #relieve(): void {
    const { budget } = this.#parts;
    if (this.#running !== null) return;
    if (this.#nextSize().all < tokenBudgetAt(budget, budget.emergencyThreshold)) return;
    const { omitTo } = fitContext(this.#nextSources(), budget);
    if (omitTo !== null) this.#past.omit(omitTo);
  }

  #begin(plan: JobPlan): void {
    const { budget, lengths, summariserMs } = this.#parts;
    const tokens = summaryTokens(
      lengths,
      plan,
      lengthsOfSummary(this.history, plan, budget, this.#everyRequest?.fixed ?? 0).asked,
    );
    this.#job = { ...this.#past.plan(plan, tokens), endsAt: this.#now + summariserMs };
    this.#tally.summariserRead += this.#readBy(plan);
    this.#tally.summariserWrote += tokens;
  }

  /** Tokens that the summariser reads: a merge reads the raw text if it fits, unless summaries are written ahead. */
  #readBy({ kind, fromSeq, toSeq, sourceTokens }: JobPlan): number {
    const { agent, budget, from } = this.#parts;
    if (kind === "leaf" || agent.config.compaction.writeAhead) return sourceTokens;
    const raw = (this.#tokensTo[toSeq - from] ?? 0) - (this.#tokensTo[fromSeq - from - 1] ?? 0);
    return raw < budget.window * RAW_SHARE ? raw : sourceTokens;
  }

  /** Finishes the jobs that have ended by then, each with the work that was due after it. */
  #endJobs(now: number): void {
    for (let jobs = 0; jobs < MOST_JOBS; jobs++) {
      const job = this.#job;
      if (job === null || job.endsAt > now) return;
      this.#now = Math.max(this.#now, job.endsAt);
      this.#job = null;
      this.#jobMs = this.#parts.summariserMs;
      this.#past.finish(job);
      this.#look();
    }
  }

  #reset(toSeq: Seq): void {
    this.#past.reset(toSeq);
    this.#job = null;
    this.#running = null;
  }

  #lookAt({ turn }: ReplayedTurn, { context, history }: Fit): void {
    const { at } = this.#parts;
    if (at === undefined || this.#visible !== null) return;
    if ("turn" in at ? turn.id !== at.turn : turn.toSeq < at.seq) return;
    const ranges: VisibleRange[] = history.summaries.map(({ kind, fromSeq, toSeq, level, tokens }) =>
      kind === "reset"
        ? { kind, fromSeq, toSeq, level: null, tokens: 0 }
        : { kind: "summary", fromSeq, toSeq, level, tokens: tokens + SUMMARY_LABEL_TOKENS },
    );
    const { coveredTo, omittedTo, omission } = history;
    if (omittedTo > coveredTo)
      ranges.push({
        kind: "omitted",
        fromSeq: coveredTo + 1,
        toSeq: omittedTo,
        level: null,
        tokens: omission === null ? 0 : (this.#extract()?.tokens ?? 0),
      });
    const rawTokens = context.segments
      .filter(({ key }) => key === "history" || key === "due" || key === "turn")
      .reduce((sum, { tokens }) => sum + tokens, 0);
    const fromSeq = rawFrom(history);
    if (fromSeq <= turn.toSeq)
      ranges.push({ kind: "raw", fromSeq, toSeq: turn.toSeq, level: null, tokens: rawTokens });
    this.#visible = {
      turn: turn.id,
      fromSeq: turn.fromSeq,
      toSeq: turn.toSeq,
      ranges,
      tokens: context.tokens,
    };
  }
}
