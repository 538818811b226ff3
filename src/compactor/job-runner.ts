import { abortedAfter } from "../async/deadline.ts";
import type { MemoryRejection } from "../core/memory.ts";
import type { CommitOutcome, Job, JobResult, SummaryDraft, Landed } from "../core/compaction.ts";
import { unreachable } from "../core/errors.ts";
import { type History, legalCuts, type Summary } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import { inTrace } from "../telemetry/trace-scope.ts";
import type { SubstituteMaker } from "../store/compaction/jobs.ts";
import type { Store } from "../store/store.ts";
import type { Summariser } from "./summariser.ts";
import type { Circuit } from "./breaker.ts";
import type { SecondTryReason } from "./summary/second-try.ts";
import { REJECTION_KINDS } from "./summary/summary-checks.ts";
import { nextStep } from "./policy/fallback-ladder.ts";
import { editNotes } from "./summary/transcript.ts";
import { ASKED_SHARE, type SummaryLengths } from "./policy/merge.ts";
import { MIN_SOURCE_TOKENS } from "./policy/policy.ts";
import type { AttemptOutcome, Material, SummarisedRange } from "./summary/attempt.ts";
import { attemptSummary } from "./summary/summary-attempt.ts";

export type JobEnd =
  /** `isCutShort`: the model calls sufficed only for the beginning of its range. */
  | ({ readonly kind: "committed"; readonly isCutShort: boolean } & Landed)
  /** Its summary is written ahead and waits to land. */
  | { readonly kind: "written"; readonly job: Job; readonly summary: SummaryDraft }
  | { readonly kind: "stale"; readonly job: Job }
  /** No summary of its range could be made now. */
  | { readonly kind: "failed"; readonly job: Job; readonly reason: string }
  /** Interrupted: its row still says `running`, and the channel's next owner resumes it. */
  | { readonly kind: "left" };

export interface JobRunnerParts {
  readonly store: Pick<Store, "jobs" | "log" | "currentSummaries" | "mergedOf" | "modelCalls" | "memories">;
  readonly agent: Summariser;
  readonly breaker: Circuit;
  /** Called for each attempt without a summary. */
  readonly onRefused: (job: Job, why: string) => void;
  readonly onAttempt: (job: Job, model: string, estimatedTokens: number) => void;
  readonly onCall: (job: Job, record: ModelCallRecord, estimatedTokens: number) => void;
}

/** The inputs of one run of a job besides its row. */
export interface JobRun {
  readonly history: History;
  readonly lengths: SummaryLengths;
  /** If no model can write a summary, a digest is committed: from the aggressive tier up, and with eight live summaries. */
  readonly mustProgress: boolean;
  /** The most important content for the person who asked; default: none named. */
  readonly focus?: string;
  readonly signal: AbortSignal;
  /** Called when an attempt asks for its summary once more. */
  readonly onSecondTry: (reason: SecondTryReason) => void;
  /** Commits the summary in one transaction and updates the history in memory. */
  commit(job: Job, maker: SubstituteMaker): Promise<CommitOutcome>;
  /** Stores a summary that is written ahead. @returns false: its job has ended */
  stageAhead(job: Job, result: JobResult): Promise<boolean>;
}

/**
 * Takes a job from its row to its commit: attempts, each with a deadline and without an open lock or transaction; the
 * fallback ladder between them; the staged result; the commit.
 * @throws errors of the database; the row holds the progress
 */
export class JobRunner {
  readonly #parts: JobRunnerParts;
  /** By model: how many times as long as asked its texts are. A model that pays no heed to a length is asked for less. */
  readonly #overshoot = new Map<string, number>();

  constructor(parts: JobRunnerParts) {
    this.#parts = parts;
  }

  async run(first: Job, run: JobRun): Promise<JobEnd> {
    return inTrace("work", async () => this.#run(first, run));
  }

  async #run(first: Job, run: JobRun): Promise<JobEnd> {
    if (first.state === "staged" && first.result.summary !== null) {
      return this.#commit(first, first.result, first.result.summary, run);
    }
    if (await this.#isTooLittle(first)) return this.#digest(first, run, { isFinal: true });
    const models = this.#parts.agent.modelNames();
    const tried = { halved: 0, models: 0, attempts: 0 };
    for (let job: Job | null = first; job !== null;) {
      let progress = job.result;
      const outcome = await this.#attempt(
        job,
        models[tried.models] ?? "",
        run,
        (result) => (progress = result),
      );
      if (outcome.kind === "aborted" && run.signal.aborted) return { kind: "left" };
      if (outcome.kind === "finished") {
        const end = await this.#finish(rangeOf(job, outcome.range), outcome.result, run);
        return end.kind === "committed" ? { ...end, isCutShort: outcome.range !== null } : end;
      }
      if (outcome.kind === "unfinished") {
        job = await this.#again(job);
        continue;
      }
      tried.attempts++;
      const why = whyNot(outcome);
      this.#parts.onRefused(job, why);
      const step = nextStep({
        plan: job,
        failure: outcome.kind === "aborted" ? "deadline" : outcome.kind,
        halved: tried.halved,
        attempts: tried.attempts,
        modelsLeft: models.length - tried.models - 1,
        mustProgress: run.mustProgress,
        refusedBefore:
          job.kind === "redo" ? await this.#parts.store.jobs.refusedRedos(job, REJECTION_KINDS) : 0,
      });
      switch (step.do) {
        case "half":
          tried.halved++;
          job = await this.#halve(job, run.history);
          break;
        case "other_model":
          tried.models++;
          job = await this.#again(job);
          break;
        case "again":
          job = await this.#again(job);
          break;
        case "digest":
          return this.#digest({ ...job, result: progress }, run, step);
        case "give_up":
          await this.#parts.store.jobs.fail(job, why);
          return { kind: "failed", job, reason: why };
        default:
          unreachable(step);
      }
    }
    return { kind: "stale", job: first };
  }

  async #attempt(
    job: Job,
    modelName: string,
    run: JobRun,
    onProgress: (result: JobResult) => void,
  ): Promise<AttemptOutcome> {
    const { agent, breaker, store, onAttempt, onCall } = this.#parts;
    if (!breaker.admit(modelName))
      return { kind: "unavailable", why: breaker.whyNot?.() ?? "the summariser is away (circuit open)" };
    const deadline = abortedAfter(agent.compaction.deadlineMs);
    const signal = AbortSignal.any([run.signal, deadline]);
    const name = await agent.resolve(modelName, signal).catch(() => null);
    if (name === null) return signal.aborted ? { kind: "aborted" } : unreachableModel(breaker, modelName);
    const windowTokens = agent.windowOf(name, modelName);
    const material = await this.#material(job, windowTokens);
    const rejected: MemoryRejection[] = [];
    const capTokens = Math.min(run.lengths.longest, Math.floor(windowTokens * CAP_SHARE));
    const outcome = await attemptSummary(agent, material, {
      model: agent.model,
      modelName: name,
      windowTokens,
      windowOf: async (other) => agent.windowOf(await agent.resolve(other, signal), other),
      evidenceOf: (asked) => agent.evidenceOf(asked),
      capTokens,
      askedTokens: Math.floor(
        Math.min(run.lengths.asked, windowTokens * CAP_SHARE * ASKED_SHARE) /
          (this.#overshoot.get(modelName) ?? 1),
      ),
      sourceTokens: await this.#sourceTokens(job, material),
      thinkingAllowance: agent.thinkingAllowance,
      maxCalls: agent.maxCalls,
      memory: job.kind === "leaf",
      focus: run.focus ?? "",
      // One job must cover all omitted entries, or an emergency omission would last.
      mayEndFrom: job.kind === "leaf" ? run.history.omittedTo : null,
      done: job.result,
      signal,
      onProgress: async (result) => {
        onProgress(result);
        await store.jobs.save(job, result);
      },
      onAttempt: (model, estimatedTokens) => onAttempt(job, model, estimatedTokens),
      onCall: (record, estimatedTokens) => onCall(job, record, estimatedTokens),
      onRejected: (reasons) => rejected.push(...reasons),
      onSecondTry: run.onSecondTry,
    });
    this.#learnLength(modelName, shareOfCap(outcome, capTokens));
    // The count is optional: the written summary must not be lost with it.
    await store.memories.countRejected(job.channel, rejected).catch(() => undefined);
    if (outcome.kind === "unavailable" || (outcome.kind === "aborted" && deadline.aborted)) {
      breaker.failed(modelName);
    } else if (outcome.kind !== "aborted") breaker.succeeded(modelName);
    return outcome;
  }

  /** @param share length of its text, as a share of what it may have */
  #learnLength(model: string, share: number | undefined): void {
    if (share === undefined) return;
    this.#overshoot.set(model, overshootAfter(this.#overshoot.get(model) ?? 1, share));
  }

  /**
   * Merges and redos are written from the raw text if all of it is kept and fits the summariser's window, else from the summaries;
   * where these are written ahead, merges always. It is read from the log after the job's row is stored: a deletion that comes later
   * finds the row, and voids the job.
   */
  async #material(job: Job, windowTokens: number): Promise<Material> {
    const { store } = this.#parts;
    const { fromSeq, toSeq, kind } = job;
    // Memory learns of a deletion a moment after its commit.
    const summaries = await store.currentSummaries(job.channel);
    // A stretch written ahead has no background, so that a deletion elsewhere does not void it.
    const isAlone = kind === "leaf" && job.isAhead === true;
    const neighbour = isAlone
      ? undefined
      : summaries.find((one) => one.toSeq === fromSeq - 1 && one.kind !== "reset");
    const replaced = within(job, summaries);
    const common = { kind, neighbour: neighbour ?? null };
    const isKept = async (): Promise<boolean> => !(await store.log.hasExpired(job.channel, fromSeq, toSeq));
    const isRaw = kind === "leaf" || (kind === "redo" && job.level === 1 && (await isKept()));
    // Where summaries are written ahead, a summariser reads each message once.
    const isOfSummaries = kind === "merge" && this.#parts.agent.compaction.writeAhead;
    const fits = async (): Promise<boolean> =>
      (await store.log.tokensOf(job.channel, fromSeq, toSeq)) < windowTokens * RAW_SHARE && (await isKept());
    if (isRaw || (!isOfSummaries && (await fits()))) {
      const entries = await store.log.readCurrent(job.channel, fromSeq, toSeq);
      return { ...common, entries, summaries: kind === "leaf" ? [] : replaced };
    }
    if (kind === "merge") return { ...common, entries: null, summaries: replaced };
    const merged = await store.mergedOf(job.channel, job);
    const edits = await this.#edits(job);
    return { ...common, entries: null, summaries: [...(merged.length > 0 ? merged : replaced), ...edits] };
  }

  /** The sources of a merged summary may be older than an edit: the current texts are added as one more source. */
  async #edits(job: Job): Promise<Summary[]> {
    const { store, agent } = this.#parts;
    const edits = await store.log.newestEdits(job.channel, job.fromSeq, job.toSeq, MAX_EDITS);
    if (edits.length === 0) return [];
    const text = editNotes(edits, agent);
    const { fromSeq, toSeq } = job;
    const tokens = estimateTokens(text);
    return [{ fromSeq, toSeq, span: null, level: 1, kind: "model", text, tokens, needsRedo: false }];
  }

  async #sourceTokens(job: Job, { entries, summaries }: Material): Promise<number> {
    if (job.kind === "leaf") return job.sourceTokens;
    if (entries !== null) return this.#parts.store.log.tokensOf(job.channel, job.fromSeq, job.toSeq);
    return summaries.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  async #finish(job: Job, result: JobResult, run: JobRun): Promise<JobEnd> {
    const { summary } = result;
    if (summary === null) throw new Error(`job ${job.id} finished without a summary`);
    if (job.isAhead === true)
      return (await run.stageAhead(job, result)) ? { kind: "written", job, summary } : { kind: "stale", job };
    const isStaged = await this.#parts.store.jobs.stage(job, result);
    return isStaged ? this.#commit(job, result, summary, run) : { kind: "stale", job };
  }

  async #commit(job: Job, result: JobResult, summary: SummaryDraft, run: JobRun): Promise<JobEnd> {
    const { store, agent } = this.#parts;
    const outcome = await run.commit(job, await store.jobs.makeReady({ ...job, result }, agent.digester));
    if (outcome !== "committed") return { kind: "stale", job };
    return { kind: "committed", job, summary, memories: result.memories.length, isCutShort: false };
  }

  /** Commits a digest, made without a model. A model replaces it later, unless it is final. */
  async #digest(job: Job, run: JobRun, { isFinal }: { readonly isFinal: boolean }): Promise<JobEnd> {
    const { agent } = this.#parts;
    // A merge's digest uses the summaries. A redo's uses the material, since the summary may be older than an edit.
    const [first = ""] = agent.modelNames();
    const windowTokens = job.kind === "merge" ? 0 : agent.windowOf(first, first);
    const { entries, summaries } = await this.#material(job, windowTokens);
    const texts = summaries.map((one) => one.text);
    const { text, tokens } =
      entries === null
        ? await agent.digester.ofTexts(texts, run.lengths.asked)
        : await agent.digester.ofEntries(entries, run.lengths.asked);
    const summary: SummaryDraft = { kind: "digest", text, tokens, model: null, isFinal };
    // Memories that the model saved before it failed are kept.
    return this.#finish(job, { ...job.result, parts: [], summary }, run);
  }

  /** Whether deletions have left nothing to summarise, or for a redo next to nothing. */
  async #isTooLittle({ channel, fromSeq, toSeq, kind }: Job): Promise<boolean> {
    const { log } = this.#parts.store;
    if (kind === "redo") return (await log.tokensLeft(channel, fromSeq, toSeq)) < MIN_SOURCE_TOKENS;
    return kind === "leaf" && !(await log.hasText(channel, fromSeq, toSeq));
  }

  async #again(job: Job): Promise<Job | null> {
    return this.#parts.store.jobs.again(job, job);
  }

  /** Shortens a leaf to the first half of its range, in whole groups. */
  async #halve(job: Job, history: History): Promise<Job | null> {
    const entries = history.entries.filter(({ seq }) => seq >= job.fromSeq && seq <= job.toSeq);
    const middle = Math.ceil(entries.length / 2);
    const cuts = [...legalCuts(entries)].filter((seq) => seq < job.toSeq);
    const omitted = history.omittedTo >= job.fromSeq ? (history.omission?.tokens ?? 0) : 0;
    const half = cuts.findLast((seq) => seq <= (entries[middle - 1]?.seq ?? 0)) ?? cuts[0];
    const toSeq: Seq = half ?? job.toSeq;
    const sourceTokens = entries
      .filter(({ seq }) => seq <= toSeq)
      .reduce((sum, { tokens }) => sum + tokens, omitted);
    return this.#parts.store.jobs.again(job, {
      toSeq,
      sourceTokens: half === undefined ? job.sourceTokens : sourceTokens,
    });
  }
}

/** Largest share of the summariser's window for the summary that it writes: the window must hold the sources, too. */
const CAP_SHARE = 0.2;
/** The next text is to be a little shorter than just short enough… */
const LENGTH_MARGIN = 1.1;
/** …and no shorter than that share of what it may have. */
const MOST_OVERSHOOT = 3;
/** A text that could be longer corrects this a little at a time: there may have been little to say. */
const SLOWEST_FALL = 0.9;
/** Most edits that a redo of a merged summary shows. */
const MAX_EDITS = 20;
/** Largest share of the summariser's window for the raw text of a merge or redo. */
export const RAW_SHARE = 0.6;

/**
 * How many times as long as asked a model's texts are, after one more of them. Pure.
 * @param share length of the text, as a share of what it may have
 */
export function overshootAfter(before: number, share: number): number {
  const change = Math.max(SLOWEST_FALL, share * LENGTH_MARGIN);
  return Math.min(MOST_OVERSHOOT, Math.max(1, before * change));
}

/** Undefined: the text's length was not the reason, or there is none. */
function shareOfCap(outcome: AttemptOutcome, capTokens: number): number | undefined {
  if (outcome.kind === "refused") return outcome.rejection.timesTooLong;
  const summary = outcome.kind === "finished" ? outcome.result.summary : null;
  return summary === null ? undefined : summary.tokens / capTokens;
}

/** @param range the summarised beginning of the job's range; null: all of it */
function rangeOf(job: Job, range: SummarisedRange | null): Job {
  return range === null ? job : { ...job, ...range };
}

function within({ fromSeq, toSeq }: Job, summaries: readonly Summary[]): Summary[] {
  return summaries.filter((one) => one.fromSeq >= fromSeq && one.toSeq <= toSeq);
}

function unreachableModel(breaker: Circuit, modelName: string): AttemptOutcome {
  breaker.failed(modelName);
  return { kind: "unavailable", why: "the model server does not say which model it has" };
}

function whyNot(outcome: Exclude<AttemptOutcome, { kind: "finished" | "unfinished" }>): string {
  switch (outcome.kind) {
    case "refused":
      return `${outcome.rejection.kind}: ${outcome.rejection.why}`;
    case "unavailable":
      return outcome.why;
    case "aborted":
      return "no summary within the deadline";
  }
}
