import type { ChannelId, JobId, Seq } from "./ids.ts";
import type { MemoryDraft } from "./memory.ts";

/** Why a job runs: how full the context was, or that a person asked for it. */
export type Tier = "background" | "aggressive" | "emergency" | "forced";

/** `leaf` covers raw (and omitted) entries; `merge` makes one summary of several; `redo` writes one again. */
export type JobKind = "leaf" | "merge" | "redo";

export interface JobPlan {
  readonly kind: JobKind;
  readonly tier: Tier;
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** Level of the summary that it makes; raw entries become level 1. */
  readonly level: number;
  /** Estimated tokens of the covered content: the raw entries of a leaf, or the summaries that a merge replaces. */
  readonly sourceTokens: number;
  /** Its summary is written ahead: it waits, and is committed together with others when a tier is reached. */
  readonly isAhead?: boolean;
}

export interface SummaryDraft {
  /** `digest`: made without a model. */
  readonly kind: "model" | "digest";
  readonly text: string;
  /** Estimated. */
  readonly tokens: number;
  /** Null: written without a model. */
  readonly model: string | null;
  /** A digest that no model could improve: hardly any content is left, or all models refused. Other digests are written again. */
  readonly isFinal?: boolean;
}

/** One finished piece of a range that is larger than the summariser's window. */
export interface SummaryPart {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** The number of the piece within the entry `toSeq`, if the entry alone is larger: 0, 1, … */
  readonly piece: number;
  readonly text: string;
}

/** Checked items of further lists of `memory_save`, by the names of the lists. */
export type LearnedDrafts = Readonly<Record<string, readonly object[]>>;

/** The model's paid result, as it is stored: a crash repeats the commit, not the spending. */
export interface JobResult {
  readonly parts: readonly SummaryPart[];
  readonly memories: readonly MemoryDraft[];
  /** What was learned beside memories; left out: nothing. */
  readonly learned?: LearnedDrafts;
  /** Null: not finished yet. */
  readonly summary: SummaryDraft | null;
}

/** A job that is under way: a row of the log, live until it is committed or has ended otherwise. */
export interface Job extends JobPlan {
  readonly id: JobId;
  readonly channel: ChannelId;
  /** Increases with each start of the job; a result of an earlier attempt is refused. */
  readonly attempt: number;
  readonly state: "running" | "staged";
  readonly result: JobResult;
}

export interface Landed {
  readonly job: Job;
  readonly summary: SummaryDraft;
  readonly memories: number;
}

/** `stale`: a deletion or another commit came between; `gone`: the job ended, or another process has started it again. */
export type CommitOutcome = "committed" | "stale" | "gone";

/** Most leafs that are written ahead of their commit. */
export const MAX_AHEAD = 4;
/** Most live summaries of a channel, over all levels. */
export const MAX_LIVE_SUMMARIES = 8;
/** The highest level: it has one summary, which absorbs every merge of the level below. */
export const TOP_LEVEL = 3;
/** Bounds of the share of the usable window for all live summaries. */
export const SUMMARIES_SHARE = { least: 0.15, most: 0.35 } as const;
/** Each level's share of that, and the number of full-length summaries in it: older content gets more room in one text. */
export const LEVELS: Readonly<Record<number, { readonly share: number; readonly full: number }>> = {
  1: { share: 0.35, full: 3 },
  2: { share: 0.25, full: 2 },
  [TOP_LEVEL]: { share: 0.4, full: 1 },
};
