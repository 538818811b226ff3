import type { CompactionConfig } from "../../config/config.ts";
import { mayMerge } from "../../compactor/policy/merge.ts";
import type { CacheState } from "../../compactor/policy/policy.ts";
import type { CompactionTarget } from "../../compactor/target.ts";
import { assemble, type ContextSources } from "../../context/assemble.ts";
import { keepTokens } from "../../context/keep.ts";
import { fitContext } from "../../context/emergency.ts";
import {
  type Budget,
  leastOfLeaf,
  stretchTokens,
  summaryCap,
  summaryRoom,
  tokenBudgetAt,
  usableTokens,
} from "../../context/usage.ts";
import type { Context } from "../../core/context.ts";
import { dueMessages, type History, type TurnRange, writtenTo } from "../../core/history.ts";
import { formatAddress } from "../../core/ids.ts";
import { sendNotice } from "../delivery/notice.ts";
import type { StaleEpochError } from "../../store/database/errors.ts";
import type { CacheTerms } from "../../llm/caches/terms.ts";
import { type Agent, budgetOf, cacheOf } from "../../turn/agent.ts";
import { nextSources } from "../../turn/context-sources.ts";
import type { ActorParts } from "../channel-context.ts";
import { sceneOf } from "../turns/turn-channel.ts";
import type { GuardedHistory } from "../guarded-history.ts";
import type { LastRequest, UsageAnchor } from "../model-usage.ts";
import { type JobPlan } from "../../core/compaction.ts";
import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";

export type CompactionTargetParts = ActorParts & {
  readonly history: GuardedHistory;
  readonly usage: UsageAnchor;
  readonly lastRequest: LastRequest;
  /** The turn that runs, if any. */
  readonly running: () => TurnRange | null;
  readonly onLostBy: (error: StaleEpochError) => void;
};

/** A channel, as its compactor sees it. */
export function createCompactionTarget(parts: CompactionTargetParts): CompactionTarget {
  const { history, owner, agent, events, address, usage, lastRequest } = parts;
  const channel = formatAddress(address);
  const { compaction } = agent.config;
  const budget = (): Budget => budgetOf(agent, lastRequest.model, usage.of(lastRequest.model));
  const sizes = createSizes(parts);

  const known = (current: History): KnownRequest => {
    const { fixed, dynamic } = sizes.withoutEntries(current);
    return knownRequest(compaction, fixed + Math.max(dynamic, lastRequest.dynamicTokens), budget);
  };

  return {
    channel,
    owner,
    history,
    mayBeFull: (current) => mayBeFull(current, known(current)),
    // However many messages there are, and whatever is due of the summaries.
    lacksRoom: (current) => mayBeFull({ ...current, summaries: [] }, { ...known(current), ...NO_LIMITS }),
    measure(current) {
      const running = parts.running();
      const size = sizes.of(current, running);
      const tokens = size.all + recalledSpare(size, lastRequest);
      const cache = cacheOf(agent, lastRequest.model, lastRequest.pace, parts.now().getTime());
      return measureHistory(agent, current, { limits: budget(), tokens, running, fixed: size.fixed, cache });
    },
    summaryCap: (current, plan) => capOfSummary(current, plan, budget()),
    async relieve() {
      // A turn that runs makes its own requests fit, before each of them.
      if (parts.running() !== null) return false;
      const current = await history.snapshot();
      const limits = budget();
      const size = sizes.of(current, null);
      const tokens = size.all + recalledSpare(size, lastRequest);
      if (tokens < tokenBudgetAt(limits, limits.emergencyThreshold)) return false;
      const fit = fitContext(requestSources(parts, current, null), limits);
      if (fit.omitTo === null) return false;
      const omitted = await history.omit(fit.omitTo);
      const { omitTo: omittedTo, tokensBefore } = fit;
      const tokensAfter = fit.context.tokens;
      events.emit({ type: "emergency", channel, omitted, omittedTo, tokensBefore, tokensAfter });
      return true;
    },
    onCommitted: (plan, messages) => {
      tellCompaction(parts, plan, messages);
      // Calls that were made after a text that was edited meanwhile are deleted with it.
      parts.features.changed();
    },
    onLost: (error) => parts.onLostBy(error),
  };
}

/**
 * What the policy decides by. Pure.
 * @param now.tokens estimated, of the request that would be sent, with what will be recalled for it
 */
export function measureHistory(
  { config, renderer }: Pick<Agent, "config" | "renderer">,
  history: History,
  now: {
    readonly limits: Budget;
    readonly tokens: number;
    readonly running: TurnRange | null;
    /** Estimated tokens of what is the same in every request. */
    readonly fixed: number;
    readonly cache: CacheTerms | undefined;
  },
): ReturnType<CompactionTarget["measure"]> {
  const { limits, tokens, running, fixed, cache } = now;
  return {
    tokens: tokens + (history.omission?.tokens ?? 0),
    tokenBudgetAt: (share) => tokenBudgetAt(limits, share),
    keepTokens: keepTokens(limits),
    summaryCap: summaryCap(limits, 1),
    summaryRoom: summaryRoom(limits),
    stretchTokens: stretchTokens(limits),
    leastOfLeaf: leastOfLeaf(limits),
    rules: config.compaction,
    firstKept: firstKept(history, running),
    tokensOf: renderer.stubTokens(history.entries),
    ...(cache !== undefined && { cache: cacheState(history, cache, { fixed, isRunning: running !== null }) }),
  };
}

function cacheState(
  { entries }: History,
  cache: CacheTerms,
  { fixed, isRunning }: { readonly fixed: number; readonly isRunning: boolean },
): CacheState {
  const turns = new Set(entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.turnId] : [])));
  const tokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
  return {
    // A turn that runs has sent a request just now, or is about to.
    terms: isRunning ? { ...cache, isCold: false } : cache,
    sharedTokens: fixed,
    turnTokens: tokens / Math.max(1, turns.size),
  };
}

/** Longest text of the summary that a job makes, estimated tokens. Pure. */
export function capOfSummary(
  history: History,
  { fromSeq, toSeq, level }: Pick<JobPlan, "fromSeq" | "toSeq" | "level">,
  limits: Budget,
): number {
  const others = history.summaries.filter(
    (one) => one.kind !== "reset" && (one.toSeq < fromSeq || one.fromSeq > toSeq),
  );
  const used = others.reduce((sum, { tokens }) => sum + tokens + SUMMARY_LABEL_TOKENS, 0);
  return summaryCap(limits, level, summaryRoom(limits) - used);
}

/** Nothing is due but by the size of the window. */
const NO_LIMITS = {
  ahead: null,
  maxRawMessages: Number.POSITIVE_INFINITY,
  maxRawTokens: Number.POSITIVE_INFINITY,
} as const;

/** What {@link mayBeFull} goes by. @param everyRequest tokens of what is in every request, whatever was said */
export function knownRequest(
  rules: CompactionConfig,
  everyRequest: number,
  budget: () => Budget,
): KnownRequest {
  const { enabled, writeAhead, keepMessages, maxRawMessages, maxRawTokens } = rules;
  const ahead = (): ReturnType<NonNullable<KnownRequest["ahead"]>> => {
    const limits = budget();
    return { least: leastOfLeaf(limits), keepMessages, keepTokens: keepTokens(limits) };
  };
  return {
    everyRequest,
    room: () => tokenBudgetAt(budget(), rules.backgroundThreshold),
    summaries: () => ({ summaryCap: summaryCap(budget(), 1), summaryRoom: summaryRoom(budget()) }),
    ahead: enabled && writeAhead ? ahead : null,
    maxRawMessages,
    maxRawTokens,
  };
}

interface Sizes {
  /** Of the request that would be sent. One look asks twice: whether there is an emergency, and what is due. */
  of(history: History, running: TurnRange | null): RequestSize;
  /** Of what is in every request, whatever was said. */
  withoutEntries(history: History): Pick<RequestSize, "fixed" | "dynamic">;
}

function createSizes(parts: CompactionTargetParts): Sizes {
  let measured: { readonly history: History; readonly running: TurnRange | null; size: RequestSize } | null =
    null;
  /** Null: nobody has looked yet. */
  let every: Pick<RequestSize, "fixed" | "dynamic"> | null = null;
  const { agent } = parts;
  let files = agent.folder.current;
  let { tools } = agent;
  const forgetOthers = (): void => {
    if (files === agent.folder.current && tools === agent.tools) return;
    files = agent.folder.current;
    ({ tools } = agent);
    measured = null;
    every = null;
  };
  return {
    of(history, running) {
      forgetOthers();
      if (measured?.history !== history || measured.running !== running) {
        const size = sizeOfRequest(assemble(requestSources(parts, history, running)));
        measured = { history, running, size };
        every = size;
      }
      return measured.size;
    },
    withoutEntries(history) {
      forgetOthers();
      every ??= sizeWithoutEntries(requestSources(parts, history, parts.running()));
      return every;
    },
  };
}

/** The request that would be sent now. */
function requestSources(
  parts: Pick<
    CompactionTargetParts,
    "agent" | "lastRequest" | "address" | "kind" | "workspace" | "place" | "now"
  >,
  history: History,
  running: TurnRange | null,
): ContextSources {
  const usable = usableTokens(budgetOf(parts.agent, parts.lastRequest.model));
  return nextSources(parts.agent, history, { running, now: parts.now(), scene: sceneOf(parts), usable });
}

/** Estimated tokens of a request: all of it, what is the same whatever was said, and what changes with each. */
export interface RequestSize {
  readonly all: number;
  readonly fixed: number;
  readonly dynamic: number;
}

export function sizeOfRequest(context: Context): RequestSize {
  const fixed = tokensIn(context, ["tools", "system"]);
  return { all: context.tokens, fixed, dynamic: tokensIn(context, ["dynamic"]) };
}

/** Does not render what was said: most channels are far from full when they are loaded, and many are never asked. */
export function sizeWithoutEntries(sources: ContextSources): RequestSize {
  const history = { ...sources.history, entries: [], summaries: [] };
  return sizeOfRequest(assemble({ ...sources, history }));
}

/** By how much the dynamic part of the last request was larger than that of one without recall. */
export function recalledSpare(
  { dynamic }: RequestSize,
  lastRequest: Pick<LastRequest, "dynamicTokens">,
): number {
  return Math.max(0, lastRequest.dynamicTokens - dynamic);
}

function tokensIn(context: Context, keys: readonly string[]): number {
  return context.segments.reduce((sum, { key, tokens }) => sum + (keys.includes(key) ? tokens : 0), 0);
}

/** Nothing from here on may be covered: it waits for a turn, or belongs to the one that runs. */
function firstKept(history: History, running: TurnRange | null): number {
  const due = dueMessages(history)[0]?.seq ?? Infinity;
  return Math.min(due, running?.fromSeq ?? Infinity, history.lastSeq + 1);
}

/** Tells people in the channel that older messages were summarised, where the agent is set up so. */
function tellCompaction(parts: ActorParts, plan: JobPlan, messages: number): void {
  const { agent, owner, compactorAgent } = parts;
  if (agent.config.compaction.notify !== "channel") return;
  // One for each covered range.
  const idempotencyKey = `compaction-${owner.channel}-${plan.fromSeq}-${plan.toSeq}`;
  sendNotice(
    parts,
    { idempotencyKey, text: compactorAgent.noticeText(messages) },
    "compaction_notice_not_sent",
  );
}

/** What is known of a channel's requests without putting one together. */
interface KnownRequest {
  /** Tokens of what is in every request, whatever was said; Infinity: not known yet. */
  readonly everyRequest: number;
  /** Tokens at which background begins. */
  readonly room: () => number;
  /** Longest summary of raw entries, and what all that are live may take; estimated tokens. */
  readonly summaries: () => { readonly summaryCap: number; readonly summaryRoom: number };
  /** What a stretch must have to be written ahead, in estimated tokens, and what is kept; null: none is written. */
  readonly ahead:
    | (() => { readonly least: number; readonly keepMessages: number; readonly keepTokens: number })
    | null;
  readonly maxRawMessages: number;
  readonly maxRawTokens: number;
}

/** Under this share of the background threshold, by the stored estimates alone, nothing can be due. */
const SURE_SHARE = 0.9;

/** False: nothing can be due. Cheap, for it is asked at every append. Pure. */
export function mayBeFull(history: History, known: KnownRequest): boolean {
  const { omittedTo, coveredTo, entries, summaries } = history;
  if (omittedTo > coveredTo || entries.length >= known.maxRawMessages) return true;
  if (summaries.some(({ kind, needsRedo }) => needsRedo && kind !== "reset")) return true;
  if (summaries.length > 1 && mayMerge({ history, ...known.summaries() })) return true;
  let raw = 0;
  for (const entry of entries) raw += entry.tokens;
  if (raw >= SURE_SHARE * known.maxRawTokens) return true;
  let tokens = known.everyRequest + raw;
  for (const summary of summaries) tokens += summary.tokens + SUMMARY_LABEL_TOKENS;
  return tokens >= SURE_SHARE * known.room() || mayWriteAhead(history, raw, known.ahead);
}

/** Is there as much unwritten text before the newest messages as a stretch has? */
function mayWriteAhead(history: History, raw: number, ahead: KnownRequest["ahead"]): boolean {
  if (ahead === null) return false;
  const { least: longEnough, keepMessages, keepTokens: mayKeep } = ahead();
  const least = SURE_SHARE * longEnough;
  if (raw < least) return false;
  const { entries } = history;
  const from = writtenTo(history);
  let kept = 0;
  let unwritten = 0;
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry === undefined || entry.seq <= from) break;
    if (entries.length - index <= keepMessages && kept < mayKeep) kept += entry.tokens;
    else unwritten += entry.tokens;
  }
  return unwritten >= least;
}
