/**
 * A channel as its compactor sees it: its sizes, the rules of its agent, and the emergency. It reads the history, and
 * calls no model.
 */

import type { CompactionConfig } from "../../config/config.ts";
import { lengthsOf, mayMerge, type SummaryLengths } from "../../compactor/policy/merge.ts";
import type { CacheState } from "../../compactor/policy/policy.ts";
import type { CompactionTarget } from "../../compactor/target.ts";
import { assemble, type ContextSources } from "../../context/assemble.ts";
import { keepTokens } from "../../context/keep.ts";
import { fitContext } from "../../context/emergency.ts";
import {
  type Budget,
  keptForRecall,
  leastOfLeaf,
  stretchTokens,
  tokenBudgetAt,
  usableTokens,
} from "../../context/usage.ts";
import { summarySizes } from "../../context/summary-room.ts";
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
  readonly running: () => TurnRange | null;
  readonly onLostBy: (error: StaleEpochError) => void;
};

export function createCompactionTarget(parts: CompactionTargetParts): CompactionTarget {
  const { history, owner, agent, events, address, usage, lastRequest } = parts;
  const channel = formatAddress(address);
  const { compaction } = agent.config;
  const budget = (): Budget => budgetOf(agent, lastRequest.model, usage.of(lastRequest.model));
  const sizes = createSizes(parts);

  const expect = (current: History, size: Pick<RequestSize, "dynamic">): number =>
    expectedRecall(size, lastRequest, keptForRecall(agent.config.memory, current, budget));

  const known = (current: History): KnownRequest => {
    const size = sizes.withoutEntries(current);
    const { fixed } = size;
    const everyRequest = fixed + size.dynamic + expect(current, size);
    return knownRequest(compaction, { everyRequest, fixed }, budget);
  };

  return {
    channel,
    owner,
    history,
    mayBeFull: (current) => mayBeFull(current, known(current)),
    // By the window alone: the limit of messages and due summaries do not count.
    lacksRoom: (current) => mayBeFull({ ...current, summaries: [] }, { ...known(current), ...NO_LIMITS }),
    measure(current) {
      const running = parts.running();
      const size = sizes.of(current, running);
      const recall = expect(current, size);
      const cache = cacheOf(agent, lastRequest.model, lastRequest.pace, parts.now().getTime());
      return measureHistory(agent, current, {
        limits: budget(),
        tokens: size.all + recall,
        recallTokens: recall,
        running,
        fixed: size.fixed,
        cache,
      });
    },
    summaryLengths: (current, plan) =>
      lengthsOfSummary(current, plan, budget(), sizes.withoutEntries(current).fixed),
    async relieve() {
      // A running turn fits its own requests before it sends each.
      if (parts.running() !== null) return false;
      const current = await history.snapshot();
      const limits = budget();
      // Without recall, which gives way.
      if (sizes.of(current, null).all < tokenBudgetAt(limits, limits.emergencyThreshold)) return false;
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
      // A commit also deletes calls made from a text edited meanwhile.
      parts.features.changed();
    },
    onLost: (error) => parts.onLostBy(error),
  };
}

/** The sizes by which the policy decides. Pure. @param now.tokens estimated tokens of the next request, with its recall */
export function measureHistory(
  { config, renderer }: Pick<Agent, "config" | "renderer">,
  history: History,
  now: {
    readonly limits: Budget;
    readonly tokens: number;
    /** Of these, for recall. */
    readonly recallTokens: number;
    readonly running: TurnRange | null;
    /** Estimated tokens of the part that all requests share. */
    readonly fixed: number;
    readonly cache: CacheTerms | undefined;
  },
): ReturnType<CompactionTarget["measure"]> {
  const { limits, tokens, recallTokens, running, fixed, cache } = now;
  return {
    tokens: tokens + (history.omission?.tokens ?? 0),
    recallTokens,
    tokenBudgetAt: (share) => tokenBudgetAt(limits, share),
    ...roomOfMessages(limits, fixed),
    stretchTokens: stretchTokens(limits),
    leastOfLeaf: leastOfLeaf(limits),
    rules: config.compaction,
    firstKept: firstKept(history, running),
    tokensOf: renderer.stubTokens(history.entries),
    ...(cache !== undefined && { cache: cacheState(history, cache, { fixed, isRunning: running !== null }) }),
  };
}

/** The room for summaries, and for the newest messages beside them. */
function roomOfMessages(
  limits: Budget,
  fixed: number,
): ReturnType<typeof summarySizes> & { readonly keepTokens: number } {
  const sizes = summarySizes(limits, fixed);
  return { ...sizes, keepTokens: keepTokens(limits, fixed + sizes.summaryRoom) };
}

function cacheState(
  { entries }: History,
  cache: CacheTerms,
  { fixed, isRunning }: { readonly fixed: number; readonly isRunning: boolean },
): CacheState {
  const turns = new Set(entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.turnId] : [])));
  const tokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
  return {
    // A running turn keeps the provider's cache warm.
    terms: isRunning ? { ...cache, isCold: false } : cache,
    sharedTokens: fixed,
    turnTokens: tokens / Math.max(1, turns.size),
  };
}

export function lengthsOfSummary(
  history: History,
  plan: JobPlan,
  limits: Budget,
  fixed: number,
): SummaryLengths {
  return lengthsOf({ history, ...summarySizes(limits, fixed) }, plan);
}

/** Turns off all limits but the window's. */
const NO_LIMITS = {
  ahead: null,
  maxRawMessages: Number.POSITIVE_INFINITY,
  maxRawTokens: Number.POSITIVE_INFINITY,
} as const;

/** The inputs of {@link mayBeFull}. @param always tokens that each request has, whatever its entries; those that all share */
export function knownRequest(
  rules: CompactionConfig,
  { everyRequest, fixed }: { readonly everyRequest: number; readonly fixed: number },
  budget: () => Budget,
): KnownRequest {
  const { enabled, writeAhead, keepMessages, maxRawMessages, maxRawTokens } = rules;
  const ahead = (): ReturnType<NonNullable<KnownRequest["ahead"]>> => {
    const limits = budget();
    return { least: leastOfLeaf(limits), keepMessages, keepTokens: roomOfMessages(limits, fixed).keepTokens };
  };
  return {
    everyRequest,
    room: () => tokenBudgetAt(budget(), rules.backgroundThreshold),
    summaries: () => summarySizes(budget(), fixed),
    ahead: enabled && writeAhead ? ahead : null,
    maxRawMessages,
    maxRawTokens,
  };
}

function createSizes(parts: CompactionTargetParts) {
  let measured: { readonly history: History; readonly running: TurnRange | null; size: RequestSize } | null =
    null;
  /** Null: not measured yet. */
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
    /** The size of the next request. Remembered: one poll asks twice, for the emergency and for the policy. */
    of(history: History, running: TurnRange | null): RequestSize {
      forgetOthers();
      if (measured?.history !== history || measured.running !== running) {
        const size = sizeOfRequest(assemble(requestSources(parts, history, running)));
        measured = { history, running, size };
        every = size;
      }
      return measured.size;
    },
    /** The size of the parts that each request has, whatever its entries. */
    withoutEntries(history: History): Pick<RequestSize, "fixed" | "dynamic"> {
      forgetOthers();
      every ??= sizeWithoutEntries(requestSources(parts, history, parts.running()));
      return every;
    },
  };
}

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

/** Estimated tokens of a request: in all, in the part that all requests share, and in the part made for each. */
export interface RequestSize {
  readonly all: number;
  readonly fixed: number;
  readonly dynamic: number;
}

export function sizeOfRequest(context: Context): RequestSize {
  const fixed = tokensIn(context, ["tools", "system"]);
  return { all: context.tokens, fixed, dynamic: tokensIn(context, ["dynamic"]) };
}

/**
 * The size without entries and summaries. It renders no message: most channels are far from full, and many are never
 * measured.
 */
export function sizeWithoutEntries(sources: ContextSources): RequestSize {
  const history = { ...sources.history, entries: [], summaries: [] };
  return sizeOfRequest(assemble({ ...sources, history }));
}

/**
 * What recall is expected to add to the next request, in estimated tokens: as much as to the last one, and at least what is kept free.
 * @param kept see {@link keptForRecall}
 */
export function expectedRecall(
  { dynamic }: Pick<RequestSize, "dynamic">,
  lastRequest: Pick<LastRequest, "dynamicTokens">,
  kept: number,
): number {
  return Math.max(kept, lastRequest.dynamicTokens - dynamic);
}

function tokensIn(context: Context, keys: readonly string[]): number {
  return context.segments.reduce((sum, { key, tokens }) => sum + (keys.includes(key) ? tokens : 0), 0);
}

/** The first entry that must not be covered: it waits for a turn, or belongs to the running one. */
function firstKept(history: History, running: TurnRange | null): number {
  const due = dueMessages(history)[0]?.seq ?? Infinity;
  return Math.min(due, running?.fromSeq ?? Infinity, history.lastSeq + 1);
}

/** Notifies the channel that older messages were summarised, if its agent is configured so. */
function tellCompaction(parts: ActorParts, plan: JobPlan, messages: number): void {
  const { agent, owner, compactorAgent } = parts;
  if (agent.config.compaction.notify !== "channel") return;
  // One notice for each covered range.
  const idempotencyKey = `compaction-${owner.channel}-${plan.fromSeq}-${plan.toSeq}`;
  sendNotice(
    parts,
    { idempotencyKey, text: compactorAgent.noticeText(messages) },
    "compaction_notice_not_sent",
  );
}

/** Bounds of a channel's requests that need no request to be assembled. */
interface KnownRequest {
  /** Tokens that each request has, whatever its entries; Infinity: unknown. */
  readonly everyRequest: number;
  /** Tokens above which a background compaction is due. */
  readonly room: () => number;
  /** Longest summary of raw entries, and the room for all live summaries, in estimated tokens. */
  readonly summaries: () => { readonly summaryCap: number; readonly summaryRoom: number };
  /**
   * Smallest stretch that is written ahead, and the raw text that is kept, in estimated tokens; null: writing ahead is
   * off.
   */
  readonly ahead:
    | (() => { readonly least: number; readonly keepMessages: number; readonly keepTokens: number })
    | null;
  readonly maxRawMessages: number;
  readonly maxRawTokens: number;
}

/** Share of a threshold below which nothing can be due, allowing for the error of the stored estimates. */
const SURE_SHARE = 0.9;

/** Whether anything can be due. Cheap, since it runs at every append. Pure. */
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

/** Whether the text that no summary covers yet, without the newest messages, fills a stretch. */
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
