import type { CompactionConfig } from "../../config/config.ts";
import { lastCoverable } from "../../context/keep.ts";
import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";
import { type JobPlan, MAX_AHEAD, MAX_LIVE_SUMMARIES, type Tier } from "../../core/compaction.ts";
import type { Entry } from "../../core/entry.ts";
import { type History, isCounted, rawFrom, writtenTo } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";
import type { CacheTerms } from "../../llm/caches/terms.ts";
import {
  hasMerge,
  isCrowded,
  isFull,
  isWritten,
  planMerge,
  planMergeBeforeLeaf,
  planOf,
  type SummariesState,
} from "./merge.ts";
import { chooseCut, type Cut, type CutGoal } from "./cut.ts";
import { landsNow } from "./landing.ts";

export interface CompactionState extends SummariesState {
  readonly history: History;
  /** Estimated tokens of the whole request, with the omitted entries. */
  readonly tokens: number;
  /** How many of these recall is expected to take. It gives way: the background tier and the cuts count them, the urgent tiers do not. */
  readonly recallTokens: number;
  readonly tokenBudgetAt: (share: number) => number;
  readonly keepTokens: number;
  readonly stretchTokens: number;
  /** Fewest estimated tokens of raw text for a summary, unless entries are omitted or a person asked. */
  readonly leastOfLeaf: number;
  /** Estimated tokens that people add while a summary is written, if known. */
  readonly leadTokens: number;
  readonly rules: Pick<
    CompactionConfig,
    | "enabled"
    | "backgroundThreshold"
    | "aggressiveThreshold"
    | "emergencyThreshold"
    | "target"
    | "keepMessages"
    | "maxRawMessages"
    | "maxRawTokens"
    | "writeAhead"
  >;
  /** First entry that must stay raw: unsettled, or of the running turn; lastSeq + 1: none. */
  readonly firstKept: Seq;
  readonly tokensOf: (entry: Entry) => number;
  readonly isForced: boolean;
  /** The summary that a person wants written again; null: none. */
  readonly redoOf: Pick<JobPlan, "fromSeq" | "toSeq"> | null;
  /** The tier of the last leaf, if its calls sufficed only for the beginning of its range; else null. */
  readonly cutShort: Tier | null;
  /** Redos and background work wait: the summariser is away or was just refused. */
  readonly isResting: boolean;
  /** Left out: the cache is unknown, and summaries written ahead land as soon as the tier is reached. */
  readonly cache?: CacheState;
}

export interface CacheState {
  readonly terms: CacheTerms;
  /** Estimated tokens at a request's beginning that no landing changes. */
  readonly sharedTokens: number;
  /** Estimated tokens that each turn adds. */
  readonly turnTokens: number;
}

/**
 * `land`: commit the summaries written ahead now; `blocked`: something is due but impossible, and is tried again at the
 * next append.
 */
export type Decision =
  | { readonly kind: "job"; readonly plan: JobPlan }
  | { readonly kind: "land" }
  | { readonly kind: "blocked"; readonly tier: Tier; readonly reason: string }
  | { readonly kind: "idle" };

/** Smallest share of the raw counted entries that a leaf covers; null: all that may leave. */
const LEAF_SHARE: Readonly<Record<Tier, number | null>> = {
  background: 0.3,
  aggressive: 0.5,
  emergency: 0.5,
  forced: null,
};
/** Source texts of fewer estimated tokens are not worth a model call. */
export const MIN_SOURCE_TOKENS = 100;

const IDLE: Decision = { kind: "idle" };
const LAND: Decision = { kind: "land" };

/**
 * Chooses a channel's one job. In order: a summary that a person wants written again; a merge, if no more summaries
 * fit; the landing of summaries written ahead, if room is needed; a forced compaction; an omitted range; the aggressive
 * tier; the rest of a leaf that was cut short; a merge; the background tier; a stretch to write ahead; a redo. A
 * blocked step does not hold up later ones. Pure: the same state gives the same decision.
 */
export function decide(state: CompactionState): Decision {
  const { history, rules, isForced, isResting } = state;
  if (state.redoOf !== null) return redoOf(state, state.redoOf);
  if (!rules.enabled && !isForced) return IDLE;
  if (history.summaries.filter(isWritten).length >= MAX_LIVE_SUMMARIES) return mergeNow(state);
  if (mustLand(state)) return LAND;
  if (isForced) return planLeaf(state, "forced");
  if (history.omittedTo > history.coveredTo) return planLeaf(state, "emergency");
  const steps = isResting
    ? [aggressive, landWritten]
    : [aggressive, goOn, merge, background, writeAhead, redo];
  let blocked = IDLE;
  for (const step of steps) {
    const decision = step(state);
    if (decision.kind === "job") return decision;
    if (blocked.kind === "idle") blocked = decision;
  }
  return blocked;
}

/**
 * Whether the summaries written ahead must land at once. Landing needs no model, so it waits for nothing. But while
 * another stretch is being written, it may wait for that until the emergency, which makes fewer and deeper landings.
 */
export function mustLand(state: CompactionState, isWriting = false): boolean {
  const { history, isForced, rules } = state;
  if (!hasWritten(history)) return false;
  if (isForced || history.omittedTo > history.coveredTo) return true;
  return isTakenAt(state, isWriting ? rules.emergencyThreshold : rules.aggressiveThreshold);
}

/** Whether the next entries to cover have a summary written ahead. */
function hasWritten(history: History): boolean {
  return writtenTo(history) > history.coveredTo;
}

/** What is left until the background tier is due, by each of its limits. At 0 or less it is due. */
export interface BackgroundRoom {
  /** Estimated tokens of the request below the threshold. */
  readonly window: number;
  /** Raw messages, whatever the size of the window. */
  readonly rawMessages: number;
  /** Their estimated tokens. */
  readonly rawTokens: number;
}

/** Pure. */
export function backgroundRoom({
  history: { entries },
  rules,
  tokens,
  tokenBudgetAt,
  tokensOf,
}: Pick<CompactionState, "history" | "rules" | "tokens" | "tokenBudgetAt" | "tokensOf">): BackgroundRoom {
  return {
    window: tokenBudgetAt(rules.backgroundThreshold) - tokens,
    rawMessages: rules.maxRawMessages - entries.filter(isCounted).length,
    rawTokens: entries.reduce((left, entry) => left - tokensOf(entry), rules.maxRawTokens),
  };
}

/** @param lead estimated tokens added to the present size, to ask whether the tier is due soon; 0: whether it is due now */
function isBackgroundDue(state: CompactionState, lead = 0): boolean {
  const { window, rawMessages, rawTokens } = backgroundRoom(state);
  return window <= lead || rawMessages <= 0 || rawTokens <= lead;
}

/** Lands the summaries written ahead once the background tier is due. */
function landWritten(state: CompactionState): Decision {
  return isBackgroundDue(state) && hasWritten(state.history) ? landCheaply(state) : IDLE;
}

/** Room is not urgent yet: lands once that is cheaper than waiting. */
function landCheaply(state: CompactionState): Decision {
  const { cache, recallTokens, tokenBudgetAt, rules } = state;
  if (cache === undefined) return LAND;
  const tokens = state.tokens - recallTokens;
  const landing = {
    before: tokens,
    after: tokensOnceLanded(state) - recallTokens,
    shared: cache.sharedTokens,
    perTurn: cache.turnTokens,
    room: tokenBudgetAt(rules.aggressiveThreshold) - tokens,
  };
  return landsNow(landing, cache.terms) ? LAND : IDLE;
}

/** Plans a summary of the oldest stretch that has none, once it is long enough. Nothing leaves the view. */
function writeAhead(state: CompactionState): Decision {
  const { rules, stretchTokens: least, leastOfLeaf, leadTokens, history } = state;
  if (!rules.writeAhead) return IDLE;
  const decision = planStretch(state, { tokens: least, goal: { share: 0, target: 0 }, least });
  if (decision.kind === "job" || !hasWritten(history) || !isBackgroundDue(state, leadTokens)) return decision;
  // The tier will be reached by the time it is written: takes all that may leave by then.
  return planStretch(state, { tokens: state.tokens, goal: null, least: leastOfLeaf });
}

/** Plans the rest of the tier's goal, if it is worth a summary of its own. */
function writeMore(state: CompactionState, tokens: number): Decision {
  const { history, rules, tokenBudgetAt, leastOfLeaf } = state;
  const counted = history.entries.filter(isCounted);
  const written = counted.filter(({ seq }) => seq <= writtenTo(history)).length;
  const share = (LEAF_SHARE.background ?? 0) - written / counted.length;
  const target = tokenBudgetAt(rules.target);
  if (share <= 0 && tokens <= target) return IDLE;
  // The share is of all raw messages; the cut is among those without a summary.
  const goal = { share: (Math.max(0, share) * counted.length) / (counted.length - written), target };
  return planStretch(state, { tokens, goal, least: leastOfLeaf });
}

interface StretchGoal {
  /** Estimated tokens of the request before the cut. */
  readonly tokens: number;
  /** Null: all that may leave. */
  readonly goal: CutGoal | null;
  /** Fewest estimated tokens of the stretch. */
  readonly least: number;
}

function planStretch(state: CompactionState, { tokens, goal, least }: StretchGoal): Decision {
  const { history, tokensOf } = state;
  const { ahead } = history;
  const from = writtenTo(history);
  const next = ahead.find(({ kind, fromSeq }) => kind === "leaf" && fromSeq > from);
  if (next !== undefined) return stretch(state, from + 1, next.fromSeq - 1);
  if (ahead.filter(({ kind }) => kind === "leaf").length >= MAX_AHEAD) return IDLE;
  // A merge comes before the last place is used: later it could not land together with leafs.
  if (isCrowded(state)) return IDLE;
  const rest = history.entries.filter(({ seq }) => seq > from);
  const whole = { entries: rest, lastCoverable: lastToCover(state), tokens, tokensOf, goal };
  let cut = chooseCut(whole);
  // A long range, as after hours without a check, becomes several summaries: one would lose too much.
  if (cut !== null && cut.tokens >= 2 * state.stretchTokens)
    cut = chooseCut({ ...whole, tokens: state.stretchTokens, goal: { share: 0, target: 0 } });
  if (cut === null || cut.tokens < Math.max(least, MIN_SOURCE_TOKENS)) return IDLE;
  return stretch(state, from + 1, cut.toSeq);
}

/** Plans a stretch, also one that refills a gap after a deletion or an edit: summaries written ahead land in order. */
function stretch({ history, tokensOf }: CompactionState, fromSeq: Seq, toSeq: Seq): Decision {
  const sourceTokens = history.entries
    .filter(({ seq }) => seq >= fromSeq && seq <= toSeq)
    .reduce((sum, entry) => sum + tokensOf(entry), 0);
  const plan = {
    kind: "leaf",
    tier: "background",
    fromSeq,
    toSeq,
    level: 1,
    sourceTokens,
    isAhead: true,
  } as const;
  return { kind: "job", plan };
}

function aggressive(state: CompactionState): Decision {
  return isTakenAt(state, state.rules.aggressiveThreshold) ? planLeaf(state, "aggressive") : IDLE;
}

function background(state: CompactionState): Decision {
  if (!isBackgroundDue(state)) return IDLE;
  const more = state.rules.writeAhead ? writeMore(state, tokensOnceLanded(state)) : IDLE;
  if (more.kind === "job") return more;
  return hasWritten(state.history) ? landCheaply(state) : planLeaf(state, "background");
}

/** Estimated tokens of the request once the summaries written ahead have landed. Pure. */
export function tokensOnceLanded({ history, tokens, summaryCap, tokensOf }: CompactionState): number {
  const to = writtenTo(history);
  const leafs = history.ahead.filter(({ kind, toSeq }) => kind === "leaf" && toSeq <= to).length;
  return history.entries
    .filter(({ seq }) => seq <= to)
    .reduce((sum, entry) => sum - tokensOf(entry), tokens + leafs * (summaryCap + SUMMARY_LABEL_TOKENS));
}

/** Plans the rest of a leaf that was cut short, down to the target. */
function goOn(state: CompactionState): Decision {
  const { cutShort, rules } = state;
  if (cutShort === null || (cutShort !== "forced" && !isAt(state, rules.target))) return IDLE;
  const decision = planLeaf(state, cutShort === "emergency" ? "background" : cutShort, 0);
  return decision.kind === "job" ? decision : IDLE;
}

function isAt(state: CompactionState, threshold: number, tokens = state.tokens): boolean {
  return tokens >= state.tokenBudgetAt(threshold);
}

/** The same without recall. */
function isTakenAt(state: CompactionState, threshold: number): boolean {
  return isAt(state, threshold, state.tokens - state.recallTokens);
}

/** @param leastShare of the raw counted entries, unless a person asked for all */
function planLeaf(state: CompactionState, tier: Tier, leastShare = LEAF_SHARE[tier]): Decision {
  const { history, summaryCap, rules } = state;
  if (isFull(state)) {
    const first = mergeNow(state);
    // The leaf waits for the merge, which is therefore as urgent: from the aggressive tier on it must succeed, without
    // a model if need be.
    const urgency = tier === "forced" ? "aggressive" : tier;
    if (first.kind === "job") return { kind: "job", plan: { ...first.plan, tier: urgency } };
    if (first.kind !== "blocked") return first;
  }
  const hasOmitted = history.omittedTo > history.coveredTo;
  const omittedTokens = hasOmitted ? (history.omission?.tokens ?? 0) : 0;
  // A leaf begins after the last summary, so it covers all omitted entries.
  const tokens = state.tokens - omittedTokens + summaryCap + SUMMARY_LABEL_TOKENS;
  const healsEnough = tier === "emergency" && !isAt(state, rules.backgroundThreshold, tokens);
  const share = LEAF_SHARE[tier] === null ? null : leastShare;
  const cut = healsEnough ? null : cutRaw(state, share, tokens, leastOf(state, tier));
  if (!hasOmitted && cut === null) return { kind: "blocked", tier, reason: whyNoCut(state) };
  const sourceTokens = omittedTokens + (cut?.tokens ?? 0);
  if (!hasOmitted && sourceTokens < Math.max(leastOf(state, tier), MIN_SOURCE_TOKENS)) {
    const reason = `what could be summarised is too little: about ${sourceTokens} tokens`;
    return { kind: "blocked", tier, reason };
  }
  const fromSeq = history.coveredTo + 1;
  const toSeq = cut?.toSeq ?? history.omittedTo;
  return { kind: "job", plan: { kind: "leaf", tier, fromSeq, toSeq, level: 1, sourceTokens } };
}

/** Fewest source tokens: small summaries keep little. If room or the number of messages runs out, they are better than none. */
function leastOf({ history, rules, leastOfLeaf }: CompactionState, tier: Tier): number {
  const isByCount = history.entries.filter(isCounted).length >= rules.maxRawMessages;
  return tier === "forced" || tier === "emergency" || isByCount ? 0 : leastOfLeaf;
}

function cutRaw(state: CompactionState, share: number | null, tokens: number, least: number): Cut | null {
  const { history, tokenBudgetAt, rules, tokensOf } = state;
  return chooseCut({
    entries: history.entries,
    lastCoverable: lastToCover(state),
    tokens,
    tokensOf,
    goal: share === null ? null : { share, target: tokenBudgetAt(rules.target), least },
  });
}

function lastToCover({ history, keepTokens, rules, firstKept, tokensOf }: CompactionState): Seq {
  const { keepMessages } = rules;
  return lastCoverable(history.entries, { firstKept, keepMessages, maxTokens: keepTokens, tokensOf });
}

function whyNoCut(state: CompactionState): string {
  if (!state.history.entries.some(isCounted))
    return state.history.coveredTo === 0
      ? "nothing has been said here yet"
      : "nothing has been said here since the last summary or reset";
  const first = rawFrom(state.history);
  if (lastToCover(state) >= first) return "a tool call among the oldest messages still waits for its result";
  return state.firstKept <= first
    ? "the oldest messages still wait for their answer"
    : "there is nothing before the newest messages, which are kept";
}

/**
 * Plans a merge. With writing ahead it is put in place only together with the next leafs, so that the beginning of the
 * prompt does not change for the merge alone.
 */
function merge(state: CompactionState): Decision {
  const { history, rules } = state;
  if (hasMerge(history)) return IDLE;
  const mustMerge = isFull(state) || (rules.writeAhead && isCrowded(state));
  const plan = mustMerge ? planMerge(state) : null;
  return plan === null ? IDLE : { kind: "job", plan: { ...plan, isAhead: rules.writeAhead } };
}

/** No leaf can be committed before this merge. */
function mergeNow(state: CompactionState): Decision {
  if (hasMerge(state.history)) return LAND;
  const plan = planMergeBeforeLeaf(state);
  if (plan !== null) return { kind: "job", plan };
  const reason = "there are too many summaries, and no level has enough to merge";
  return { kind: "blocked", tier: "background", reason };
}

function redo({ history }: CompactionState): Decision {
  const oldest = history.summaries.find((summary) => isWritten(summary) && summary.needsRedo);
  const plan = oldest === undefined ? null : planOf("redo", [oldest], oldest.level);
  return plan === null ? IDLE : { kind: "job", plan };
}

/** Plans a redo, which needs no further room. */
function redoOf(
  { history }: CompactionState,
  { fromSeq, toSeq }: Pick<JobPlan, "fromSeq" | "toSeq">,
): Decision {
  const live = history.summaries.find(
    (one) => isWritten(one) && one.fromSeq === fromSeq && one.toSeq === toSeq,
  );
  const plan = live === undefined ? null : planOf("redo", [live], live.level);
  if (plan === null) return cannotRedo("another summary covers its messages by now");
  // The merge has read the earlier text, and would replace the new one.
  const isMerged = history.ahead.some(
    (one) => one.kind === "merge" && one.fromSeq <= fromSeq && one.toSeq >= toSeq,
  );
  if (isMerged) return cannotRedo("a merged summary is written already that is about to take its place");
  return { kind: "job", plan: { ...plan, tier: "forced" } };
}

function cannotRedo(reason: string): Decision {
  return { kind: "blocked", tier: "forced", reason };
}
