import type { Job } from "../core/compaction.ts";
import type { CompactionState } from "./policy/policy.ts";
import type { ForcedOutcome } from "./target.ts";

type Range = NonNullable<CompactionState["redoOf"]>;

/** Compactions that people asked a channel for, until they get their answer. */
export class AskedWork {
  #forced: PromiseWithResolvers<ForcedOutcome> | null = null;
  /** The most important content for the forced compaction; "": none named. */
  #focus = "";
  /** The summaries written ahead that the forced compaction has committed so far. */
  #forcedSoFar: ForcedOutcome | null = null;
  #redo: { readonly range: Range; readonly answer: PromiseWithResolvers<ForcedOutcome> } | null = null;

  get isForced(): boolean {
    return this.#forced !== null;
  }

  /** The summary to write again; null: none. */
  get redoOf(): Range | null {
    return this.#redo?.range ?? null;
  }

  get isAny(): boolean {
    return this.#forced !== null || this.#redo !== null;
  }

  get focus(): string {
    return this.#focus;
  }

  /** Forces a compaction of all that may be compacted. Concurrent callers share its answer. */
  async force(focus: string): Promise<ForcedOutcome> {
    if (this.#forced === null) this.#forcedSoFar = null;
    if (focus !== "") this.#focus = focus;
    this.#forced ??= Promise.withResolvers<ForcedOutcome>();
    return this.#forced.promise;
  }

  async redo(range: Range): Promise<ForcedOutcome> {
    if (this.#redo !== null) return { kind: "nothing", reason: "a summary is being written again already" };
    const answer = Promise.withResolvers<ForcedOutcome>();
    this.#redo = { range, answer };
    return answer.promise;
  }

  /** A part of a forced compaction has landed. */
  landed(outcome: ForcedOutcome): void {
    this.#forcedSoFar = outcome;
  }

  /** A job has ended. A job that an earlier owner left has no caller here. */
  ended({ kind, fromSeq, toSeq }: Job, outcome: ForcedOutcome): void {
    if (kind !== "redo") this.answerForced(outcome);
    else if (this.redoOf?.fromSeq === fromSeq && this.redoOf.toSeq === toSeq) this.answerRedo(outcome);
  }

  answerForced(outcome: ForcedOutcome): void {
    this.#forced?.resolve(outcome.kind === "nothing" ? (this.#forcedSoFar ?? outcome) : outcome);
    this.#forced = null;
    this.#forcedSoFar = null;
    this.#focus = "";
  }

  answerRedo(outcome: ForcedOutcome): void {
    this.#redo?.answer.resolve(outcome);
    this.#redo = null;
  }

  fail(reason: string): void {
    this.answerForced({ kind: "failed", reason });
    this.answerRedo({ kind: "failed", reason });
  }
}
