import type { Job } from "../core/compaction.ts";
import type { CompactionState } from "./policy/policy.ts";
import type { ForcedOutcome } from "./target.ts";

type Range = NonNullable<CompactionState["redoOf"]>;

/** What people have asked a channel's compactor for, and wait for. */
export class AskedWork {
  #forced: PromiseWithResolvers<ForcedOutcome> | null = null;
  /** What whoever forced it needs most; "": nothing in particular. */
  #focus = "";
  /** What a forced compaction has committed of what was written ahead. */
  #forcedSoFar: ForcedOutcome | null = null;
  #redo: { readonly range: Range; readonly answer: PromiseWithResolvers<ForcedOutcome> } | null = null;

  get isForced(): boolean {
    return this.#forced !== null;
  }

  /** The summary that is to be written again; null: none. */
  get redoOf(): Range | null {
    return this.#redo?.range ?? null;
  }

  get isAny(): boolean {
    return this.#forced !== null || this.#redo !== null;
  }

  get focus(): string {
    return this.#focus;
  }

  /** All that may be compacted is. Whoever asks meanwhile has the same answer. */
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

  /** Of a forced compaction a part has landed. */
  landed(outcome: ForcedOutcome): void {
    this.#forcedSoFar = outcome;
  }

  /** A job that a person has asked for has ended; or one that an earlier owner has left, which nobody waits for. */
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

  /** Nothing of it can be done. */
  fail(reason: string): void {
    this.answerForced({ kind: "failed", reason });
    this.answerRedo({ kind: "failed", reason });
  }
}
