import type { Context } from "../core/context.ts";
import { type History, isCounted, legalCuts, omit } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { assemble, type ContextSources, NO_TRIMS, type Trims } from "./assemble.ts";
import { type Budget, usableTokens } from "./usage.ts";

/**
 * Emergency: makes a request fit the window at once and without a model. It changes the view, never the log.
 * Pure: it says what to omit, and the channel's actor makes that durable before the request is sent.
 */
export interface Fit {
  readonly context: Context;
  /** The history as the context shows it. */
  readonly history: History;
  /** Up to where entries leave the view now; null: nothing does. */
  readonly omitTo: Seq | null;
  /** Tokens of the request before anything was trimmed. */
  readonly tokensBefore: number;
  /** Even with every item at its shortest, the request is over the usable window. */
  readonly overflows: boolean;
}

/** Share of the usable window that the newest messages may keep. */
const KEEP_SHARE = 0.4;
/** Share of the raw entries that one omission takes at least. */
const OMIT_SHARE = 0.5;
/** Shortest form of an item, in tokens. */
const SHORTEST_ITEM = 40;

/** Fits a context into the budget: stubs, then the omission, then caps. */
export function fitContext(sources: ContextSources, budget: Budget): Fit {
  const usable = usableTokens(budget);
  const emergency = budget.emergencyThreshold * usable;
  const { history } = sources;
  const plain = assemble(sources);
  const tokensBefore = plain.tokens;
  if (plain.tokens < emergency)
    return { context: plain, history, omitTo: null, tokensBefore, overflows: false };

  const stubbed = assemble(sources, { ...NO_TRIMS, stubs: "all" });
  if (stubbed.tokens < budget.aggressiveThreshold * usable) {
    return { context: stubbed, history, omitTo: null, tokensBefore, overflows: false };
  }
  const omitTo = planOmission(sources, budget, stubbed.tokens);
  const left = omitTo === null ? sources : { ...sources, history: omit(history, omitTo) };
  const omitted = omitTo === null ? stubbed : assemble(left, { ...NO_TRIMS, stubs: "all" });
  const context = omitted.tokens < emergency ? omitted : capItems(left, Math.floor(emergency) - 1);
  return { context, history: left.history, omitTo, tokensBefore, overflows: context.tokens > usable };
}

/**
 * The oldest half of the raw entries, and more until the projected usage is at or under the target, in whole groups;
 * never the newest messages that must be kept, nor anything that still waits for its turn.
 */
export function planOmission(sources: ContextSources, budget: Budget, tokens: number): Seq | null {
  const { history, turn, renderer } = sources;
  const usable = usableTokens(budget);
  const last = lastOmittable(sources, budget);
  const counted = history.entries.filter(isCounted).length;
  const cuts = legalCuts(history.entries);
  let projected = tokens;
  let taken = 0;
  let choice: Seq | null = null;
  for (const entry of history.entries) {
    if (entry.seq > last || entry.seq >= turn.fromSeq) break;
    projected -= renderer.render(entry, { stub: true }).tokens;
    taken += Number(isCounted(entry));
    if (!cuts.has(entry.seq)) continue;
    choice = entry.seq;
    if (taken >= counted * OMIT_SHARE && projected <= budget.target * usable) break;
  }
  return choice;
}

/** The last entry before the newest ones that are kept, and before the oldest that still waits. */
function lastOmittable(sources: ContextSources, budget: Budget): Seq {
  const { history, turn, renderer } = sources;
  const limit = KEEP_SHARE * usableTokens(budget);
  let kept = 0;
  let tokens = 0;
  let last = turn.fromSeq - 1;
  for (const entry of history.entries.toReversed()) {
    if (entry.seq >= turn.fromSeq) continue;
    tokens += renderer.render(entry, { stub: true }).tokens;
    kept += Number(isCounted(entry));
    if (kept > budget.keepMessages || tokens > limit) break;
    last = entry.seq - 1;
  }
  const waiting = history.entries.find(
    (entry) => entry.kind === "user" && entry.addressed && entry.seq > history.settledTo,
  );
  return Math.min(last, (waiting?.seq ?? Infinity) - 1);
}

/** Caps each item left: first what is oldest, then this turn's tool results, last the messages to answer. */
function capItems(sources: ContextSources, limit: number): Context {
  let trims: Trims = { stubs: "all", cap: {} };
  let context = assemble(sources, trims);
  for (const part of ["before", "own", "due"] as const) {
    if (context.tokens <= limit) break;
    const withCap = (cap: number): Trims => ({ ...trims, cap: { ...trims.cap, [part]: cap } });
    let low = SHORTEST_ITEM;
    let high = limit;
    // The largest cap that fits; the shortest where none does.
    while (low + 8 < high) {
      const middle = Math.floor((low + high) / 2);
      if (assemble(sources, withCap(middle)).tokens <= limit) low = middle;
      else high = middle;
    }
    trims = withCap(low);
    context = assemble(sources, trims);
  }
  return context;
}
