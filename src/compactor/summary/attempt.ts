import type { JobKind, JobResult } from "../../core/compaction.ts";
import type { Entry } from "../../core/entry.ts";
import type { Summary } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";
import type { WindowEvidence } from "../../llm/catalog/window-evidence.ts";
import type { RequestLimits } from "./requests.ts";
import type { SecondTryReason } from "./second-try.ts";
import type { SummaryRejection } from "./summary-checks.ts";
import type { WriterOptions, WritingTask } from "./writer.ts";

/** The sources, options and outcome of one attempt at a summary. */
export interface Material {
  readonly kind: JobKind;
  /** Raw entries of the range; null if only summaries fit the window. */
  readonly entries: readonly Entry[] | null;
  /** The summaries to merge, or the one to write again. */
  readonly summaries: readonly Summary[];
  /** The live summary before the range. */
  readonly neighbour: Summary | null;
}

export interface AttemptOptions
  extends
    RequestLimits,
    Pick<
      WriterOptions,
      "model" | "modelName" | "signal" | "onAttempt" | "onCall" | "onRejected" | "windowOf"
    >,
    Pick<WritingTask, "capTokens" | "askedTokens" | "sourceTokens"> {
  /** The evidence on a model's window. Default: none, and none is collected. */
  readonly evidenceOf?: (model: string) => WindowEvidence;
  /** Model calls of the attempt, over all parts of a long range; failed calls, retries and fallbacks count. */
  readonly maxCalls: number;
  readonly memory: boolean;
  /** If the calls do not suffice for a leaf's range, its summary may end at this seq or later; null: it must cover all. */
  readonly mayEndFrom: Seq | null;
  /** Finished parts of the same range from an earlier attempt. */
  readonly done: JobResult;
  /** Called when a summary is asked for once more; at most once an attempt. Default: no listener. */
  readonly onSecondTry?: (reason: SecondTryReason) => void;
  /** Called after each finished part of a long transcript, before the next call. */
  readonly onProgress: (result: JobResult) => Promise<void>;
}

export type AttemptOutcome =
  /** `range`: the beginning of the material, which the summary covers; null: it covers all of the material. */
  | { readonly kind: "finished"; readonly result: JobResult; readonly range: SummarisedRange | null }
  /** The calls are used up. At least one more part is saved: the next attempt resumes there. */
  | { readonly kind: "unfinished" }
  | { readonly kind: "refused"; readonly rejection: SummaryRejection }
  /** `why`: the kind of failure, without the provider's text. */
  | { readonly kind: "unavailable"; readonly why: string }
  | { readonly kind: "aborted" };

export interface SummarisedRange {
  readonly toSeq: Seq;
  readonly sourceTokens: number;
}
