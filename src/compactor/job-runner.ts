import type { CommitOutcome, Job, JobResult, SummaryDraft } from "../core/compaction.ts";
import { unreachable } from "../core/errors.ts";
import { type History, legalCuts, type Summary } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import type { Store } from "../store/store.ts";
import type { Summariser } from "./summariser.ts";
import type { Breaker } from "./breaker.ts";
import { REJECTION_KINDS } from "./summary/summary-checks.ts";
import { nextStep } from "./policy/fallback-ladder.ts";
import { editNotes } from "./summary/transcript.ts";
import { MIN_SOURCE_TOKENS } from "./policy/policy.ts";
import {
  type AttemptOutcome,
  attemptSummary,
  type Material,
  type SummarisedRange,
} from "./summary/summary-attempt.ts";

/** How a job ended. */
export type JobEnd =
  | {
      readonly kind: "committed";
      readonly job: Job;
      readonly summary: SummaryDraft;
      readonly memories: number;
      /** Its calls sufficed for the beginning of its range alone. */
      readonly isCutShort: boolean;
    }
  | { readonly kind: "stale"; readonly job: Job }
  /** Nothing could be made of its range now. */
  | { readonly kind: "failed"; readonly job: Job; readonly reason: string }
  /** Interrupted: the row says that it runs, and whoever owns the channel next goes on with it. */
  | { readonly kind: "left" };

export interface JobRunnerParts {
  readonly store: Pick<Store, "jobs" | "log" | "coverage" | "mergedOf" | "modelCalls">;
  readonly agent: Summariser;
  readonly breaker: Breaker;
  /** Told of an attempt that brought no summary. */
  readonly onRefused: (job: Job, why: string) => void;
  readonly onCall: (record: ModelCallRecord, estimatedTokens: number) => void;
}

/** What one run of a job needs besides its row. */
export interface JobRun {
  readonly history: History;
  /** Longest summary, estimated tokens. */
  readonly summaryCap: number;
  /** Where no model can, a digest must do: from aggressive up, and where eight summaries are live. */
  readonly mustProgress: boolean;
  readonly signal: AbortSignal;
  /** The one transaction that covers, and the swap behind it. */
  commit(job: Job): Promise<CommitOutcome>;
}

/**
 * Takes a job from its row to its commit: attempts, each with a deadline and with no lock and no transaction open; the
 * ladder between them; the staged result; the commit.
 * @throws where the database does: the row knows how far it came
 */
export class JobRunner {
  readonly #parts: JobRunnerParts;

  constructor(parts: JobRunnerParts) {
    this.#parts = parts;
  }

  async run(first: Job, run: JobRun): Promise<JobEnd> {
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
        refusedBefore: await this.#refusedBefore(job),
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
    const { agent, breaker, store, onCall } = this.#parts;
    if (!breaker.admit(modelName))
      return { kind: "unavailable", why: "the summariser is away (circuit open)" };
    const deadline = AbortSignal.timeout(agent.compaction.deadlineMs);
    const signal = AbortSignal.any([run.signal, deadline]);
    const name = await agent.resolve(modelName, signal).catch(() => null);
    if (name === null) return signal.aborted ? { kind: "aborted" } : unreachableModel(breaker, modelName);
    const windowTokens = agent.windowOf(name);
    const material = await this.#material(job, windowTokens);
    const outcome = await attemptSummary(agent, material, {
      model: agent.model,
      modelName: name,
      windowTokens,
      capTokens: run.summaryCap,
      sourceTokens: await this.#sourceTokens(job, material),
      thinkingAllowance: agent.thinkingAllowance,
      maxCalls: agent.maxCalls,
      memory: job.kind === "leaf",
      // What is omitted is covered by one job, or emergency would not heal.
      mayEndFrom: job.kind === "leaf" ? run.history.omittedTo : null,
      done: job.result,
      signal,
      onProgress: async (result) => {
        onProgress(result);
        await store.jobs.save(job, result);
      },
      onCall,
    });
    if (outcome.kind === "unavailable" || (outcome.kind === "aborted" && deadline.aborted)) {
      breaker.failed(modelName);
    } else if (outcome.kind !== "aborted") breaker.succeeded(modelName);
    return outcome;
  }

  /** Merges and redos are written from the raw text where it fits the summariser, else from the summaries. */
  async #material(job: Job, windowTokens: number): Promise<Material> {
    const { store } = this.#parts;
    const { fromSeq, toSeq, kind } = job;
    const summaries = await this.#summaries(job);
    const neighbour = summaries.find((one) => one.toSeq === fromSeq - 1 && one.kind !== "reset");
    const replaced = within(job, summaries);
    const common = { kind, neighbour: neighbour ?? null };
    const isRaw = kind === "leaf" || (kind === "redo" && job.level === 1);
    if (isRaw || (await store.log.tokensOf(job.channel, fromSeq, toSeq)) < windowTokens * RAW_SHARE) {
      const entries = await store.log.readCurrent(job.channel, fromSeq, toSeq);
      return { ...common, entries, summaries: kind === "leaf" ? [] : replaced };
    }
    if (kind === "merge") return { ...common, entries: null, summaries: replaced };
    const merged = await store.mergedOf(job.channel, job);
    const edits = await this.#edits(job);
    return { ...common, entries: null, summaries: [...(merged.length > 0 ? merged : replaced), ...edits] };
  }

  /**
   * From the log and not from memory, which hears of a deletion a moment after it is committed: what the log has once the
   * job's row is there, a deletion behind it will find read by this job.
   */
  async #summaries({ channel }: Job): Promise<readonly Summary[]> {
    return (await this.#parts.store.coverage(channel)).summaries;
  }

  /** What it was made of may be older than an edit: the new texts come behind it, as one text more. */
  async #edits(job: Job): Promise<Summary[]> {
    const { store, agent } = this.#parts;
    const edits = await store.log.newestEdits(job.channel, job.fromSeq, job.toSeq, MAX_EDITS);
    if (edits.length === 0) return [];
    const text = editNotes(edits, agent);
    const { fromSeq, toSeq } = job;
    const tokens = estimateTokens(text);
    return [{ fromSeq, toSeq, span: null, level: 1, kind: "model", text, tokens, needsRedo: false }];
  }

  /** Tokens of what the summary is made of. */
  async #sourceTokens(job: Job, { entries, summaries }: Material): Promise<number> {
    if (job.kind === "leaf") return job.sourceTokens;
    if (entries !== null) return this.#parts.store.log.tokensOf(job.channel, job.fromSeq, job.toSeq);
    return summaries.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  async #finish(job: Job, result: JobResult, run: JobRun): Promise<JobEnd> {
    const { summary } = result;
    if (summary === null) throw new Error(`job ${job.id} finished without a summary`);
    const isStaged = await this.#parts.store.jobs.stage(job, result);
    return isStaged ? this.#commit(job, result, summary, run) : { kind: "stale", job };
  }

  async #commit(job: Job, result: JobResult, summary: SummaryDraft, run: JobRun): Promise<JobEnd> {
    const outcome = await run.commit(job);
    if (outcome !== "committed") return { kind: "stale", job };
    return { kind: "committed", job, summary, memories: result.memories.length, isCutShort: false };
  }

  /** Without a model; it is marked as such, and written again when one can, unless it is final. */
  async #digest(job: Job, run: JobRun, { isFinal }: { readonly isFinal: boolean }): Promise<JobEnd> {
    const { agent } = this.#parts;
    // A merge's is made of the summaries; a redo's of what a model would read: the summary may be older than an edit.
    const windowTokens = job.kind === "merge" ? 0 : agent.windowOf(agent.modelNames()[0] ?? "");
    const { entries, summaries } = await this.#material(job, windowTokens);
    const texts = summaries.map((one) => one.text);
    const { text, tokens } =
      entries === null
        ? await agent.digester.ofTexts(texts, run.summaryCap)
        : await agent.digester.ofEntries(entries, run.summaryCap);
    const summary: SummaryDraft = { kind: "digest", text, tokens, model: null, isFinal };
    // What the model had found before it failed is paid for.
    return this.#finish(job, { ...job.result, parts: [], summary }, run);
  }

  /** Nothing is left that a model could summarise, or for a redo next to nothing: people took it back. */
  async #isTooLittle({ channel, fromSeq, toSeq, kind }: Job): Promise<boolean> {
    const { log } = this.#parts.store;
    if (kind === "redo") return (await log.tokensLeft(channel, fromSeq, toSeq)) < MIN_SOURCE_TOKENS;
    return kind === "leaf" && !(await log.hasText(channel, fromSeq, toSeq));
  }

  async #refusedBefore(job: Job): Promise<number> {
    return job.kind === "redo" ? this.#parts.store.jobs.refusedRedos(job, REJECTION_KINDS) : 0;
  }

  async #again(job: Job): Promise<Job | null> {
    return this.#parts.store.jobs.again(job, job);
  }

  /** The first half of a leaf's range, in whole groups. */
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

/** Edits that a redo of a merged summary is told of. */
const MAX_EDITS = 20;
/** Share of the summariser's window that a raw text may take to be read once more for a merge. */
const RAW_SHARE = 0.6;

/** @param range the beginning of the job's range that was summarised; null: all of it */
function rangeOf(job: Job, range: SummarisedRange | null): Job {
  return range === null ? job : { ...job, ...range };
}

function within({ fromSeq, toSeq }: Job, summaries: readonly Summary[]): Summary[] {
  return summaries.filter((one) => one.fromSeq >= fromSeq && one.toSeq <= toSeq);
}

function unreachableModel(breaker: Breaker, modelName: string): AttemptOutcome {
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
