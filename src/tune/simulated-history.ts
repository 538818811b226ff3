import type { JobPlan } from "../core/compaction.ts";
import type { Entry } from "../core/entry.ts";
import { appendEntries, type History, omit, settle } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import {
  commitSummary,
  historyFrom,
  isCurrent,
  landAll,
  omittedOf,
  type OmittedEntry,
  type PlannedSummary,
  replacedBy,
  resetTo,
  spanOf,
  writeAhead,
} from "./coverage.ts";
import { fillerText } from "./lengths.ts";
import type { Tally } from "./tally.ts";

/** A channel's history without a log: writes are only counted. */
export class SimulatedHistory {
  readonly #tally: Tally;
  #history: History;
  /** The omitted entries without a summary. */
  #omitted: OmittedEntry[] = [];
  /** Summaries written ahead, in the order of their beginning. */
  #ahead: PlannedSummary[] = [];

  /** @param from the first entry */
  constructor(from: Seq, tally: Tally) {
    this.#history = historyFrom(from - 1);
    this.#tally = tally;
  }

  get current(): History {
    return this.#history;
  }

  append(entry: Entry): void {
    this.#history = appendEntries(this.#history, [entry]);
    this.#tally.entries++;
  }

  settle(toSeq: Seq): void {
    this.#history = settle(this.#history, toSeq);
  }

  omit(toSeq: Seq): void {
    const leaving = this.#history.entries.filter(({ seq }) => seq <= toSeq);
    for (const entry of leaving) this.#omitted.push(omittedOf(entry));
    this.#history = omit(this.#history, toSeq);
    this.#tally.omissions++;
    this.#tally.omitted += leaving.length;
  }

  /** The summary that a job will make. @param tokens of its text, estimated */
  plan(plan: JobPlan, tokens: number): PlannedSummary {
    const { kind, fromSeq, toSeq, level } = plan;
    const summary = {
      fromSeq,
      toSeq,
      level,
      span: spanOf(this.#history, plan, this.#omitted),
      kind: "model" as const,
      text: fillerText(tokens),
      tokens,
      needsRedo: false,
    };
    return { plan, replaces: kind === "leaf" ? [] : replacedBy(this.#history, plan), summary };
  }

  /** A summary is finished: it is committed, or waits for its landing. */
  finish(made: PlannedSummary): void {
    if (made.plan.isAhead === true) {
      this.#tally.writtenAhead++;
      this.#ahead.push(made);
      this.#history = writeAhead(this.#history, made.plan);
      return;
    }
    if (!isCurrent(this.#history, made)) {
      this.#tally.stale++;
      return;
    }
    this.#history = commitSummary(this.#history, made, this.#omitted);
    this.#tally.commits++;
    this.#committed(made);
    // A waiting merge lands with it: the prefix changes anyway.
    if (made.plan.kind === "leaf" && this.land()) this.#tally.commits--;
  }

  /** Commits the summaries written ahead. @returns whether any has landed */
  land(): boolean {
    if (this.#ahead.length === 0) return false;
    const { history, landed, waiting } = landAll(this.#history, this.#ahead, this.#omitted);
    this.#tally.stale += this.#ahead.length - landed.length - waiting.length;
    this.#history = history;
    this.#ahead = waiting;
    for (const one of landed) this.#committed(one);
    this.#tally.landed += landed.length;
    this.#tally.commits += Number(landed.length > 0);
    return landed.length > 0;
  }

  reset(toSeq: Seq): void {
    this.#history = resetTo(this.#history, toSeq);
    this.#omitted = this.#omitted.filter(({ seq }) => seq > toSeq);
    this.#ahead = [];
  }

  #committed({ plan }: PlannedSummary): void {
    this.#tally.committed[plan.tier]++;
    this.#tally.merges += Number(plan.kind === "merge");
    this.#omitted = this.#omitted.filter(({ seq }) => seq > this.#history.coveredTo);
  }
}
