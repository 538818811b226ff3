import type { Context } from "../core/context.ts";
import { type History, isCounted, legalCuts, omit, turnView } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { estimateTokens } from "../text/tokens.ts";
import { assemble, type ContextSources, isToolEntry, NO_TRIMS, type Trims } from "./assemble.ts";
import { keepTokens, lastCoverable } from "./keep.ts";
import { type Budget, partAt, tokenBudgetAt } from "./usage.ts";

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
  /** Estimated tokens of the request before anything was trimmed. */
  readonly tokensBefore: number;
  /** Even with every item at its shortest, the request is over the usable window. */
  readonly overflows: boolean;
}

/** Share of the raw entries that one omission takes at least. */
const OMIT_SHARE = 0.5;
/** Share of the usable window that names and recalled passages may take. */
const ROOM_SHARE = 0.25;
/** Shortest form of an item, in tokens. */
const SHORTEST_ITEM = 40;

/** Fits a context into the budget: no pictures and only short results of earlier turns, then the omission, then caps, then a second omission that spares nothing settled. */
export function fitContext(sources: ContextSources, budget: Budget): Fit {
  const emergency = tokenBudgetAt(budget, budget.emergencyThreshold);
  const { history } = sources;
  // A recall that took more would itself drive messages out of the view.
  const trims: Trims = { ...NO_TRIMS, room: Math.floor(partAt(budget, ROOM_SHARE)) };
  const plain = assemble(sources, trims);
  const tokensBefore = plain.tokens;
  if (plain.tokens < emergency)
    return { context: plain, history, omitTo: null, tokensBefore, overflows: false };

  const plainest: Trims = { ...trims, withoutImages: true, stubs: true };
  const imageless = assemble(sources, plainest);
  if (imageless.tokens < tokenBudgetAt(budget, budget.aggressiveThreshold)) {
    return { context: imageless, history, omitTo: null, tokensBefore, overflows: false };
  }
  const limit = Math.floor(emergency) - 1;
  const attempt = (omitTo: Seq | null): Fit => {
    const left = omitTo === null ? sources : { ...sources, history: omit(history, omitTo) };
    const omitted = assemble(left, plainest);
    const context = omitted.tokens < emergency ? omitted : capItems(left, plainest, limit);
    return {
      context,
      history: left.history,
      omitTo,
      tokensBefore,
      overflows: context.tokens > tokenBudgetAt(budget, 1),
    };
  };
  const fit = attempt(planOmission(sources, budget, imageless.tokens));
  if (fit.context.tokens <= limit) return fit;
  // Many short messages do not get shorter by caps: what is settled goes, the newest of it too.
  return attempt(planOmission(sources, { ...budget, keepMessages: 0 }, imageless.tokens));
}

/**
 * The oldest half of the raw entries, and more until the projected usage is at or under the target, in whole groups;
 * never the newest messages that must be kept, nor anything that still waits for its turn.
 */
export function planOmission(sources: ContextSources, budget: Budget, tokens: number): Seq | null {
  const { history, turn, renderer } = sources;
  const target = tokenBudgetAt(budget, budget.target);
  const last = lastOmittable(sources, budget);
  const counted = history.entries.filter(isCounted).length;
  const cuts = legalCuts(history.entries);
  const tokensOf = renderer.stubTokens(history.entries);
  let projected = tokens + markerTokens(sources) + HEAD_GROWTH_TOKENS;
  let taken = 0;
  let choice: Seq | null = null;
  for (const [place, entry] of history.entries.entries()) {
    if (entry.seq > last || entry.seq >= turn.fromSeq) break;
    projected -= tokensOf(entry);
    taken += Number(isCounted(entry));
    if (!cuts.has(entry.seq)) continue;
    choice = entry.seq;
    const opening = history.entries[place + 1]?.kind === "user" ? 0 : OPENING_TOKENS;
    if (taken >= counted * OMIT_SHARE && projected + opening <= target) break;
  }
  return choice;
}

/** By how much a line's head may grow when the line before it leaves the view, in estimated tokens. */
const HEAD_GROWTH_TOKENS = 16;
/** The line that stands before an assistant's message where nothing else does, in estimated tokens. */
const OPENING_TOKENS = 24;

/** What a first omission adds to the request: its marker. */
function markerTokens({ history, dynamic }: ContextSources): number {
  const [first] = history.entries;
  if (history.omission !== null || first === undefined) return 0;
  const { seq, at } = first;
  const count = history.entries.length;
  const lastAt = new Date(at.getTime() + 60_000);
  const marked = { fromSeq: seq, toSeq: history.lastSeq, count, tokens: 0, firstAt: at, lastAt };
  return estimateTokens(dynamic.make(marked, 0).text) - estimateTokens(dynamic.make(null, 0).text);
}

/** The last entry before the newest ones that are kept, and before the oldest that still waits. */
function lastOmittable(sources: ContextSources, budget: Budget): Seq {
  const { history, turn, renderer } = sources;
  const last = lastCoverable(history.entries, {
    firstKept: turn.fromSeq,
    keepMessages: budget.keepMessages,
    maxTokens: keepTokens(budget),
    tokensOf: renderer.stubTokens(history.entries),
  });
  const waiting = history.entries.find(
    (entry) => entry.kind === "user" && entry.addressed && entry.seq > history.settledTo,
  );
  return Math.min(last, (waiting?.seq ?? Infinity) - 1);
}

/**
 * Caps each item left: first what is oldest, then what was recalled, then this turn's tool results, last the messages
 * to answer. If that is not enough, the oldest calls go with their results: those of this turn, and of the last one
 * where it still ran when this one's first message came.
 */
function capItems(sources: ContextSources, start: Trims, limit: number): Context {
  const capped = (part: keyof Trims["cap"]) => (trims: Trims, cap: number) => ({
    ...trims,
    cap: { ...trims.cap, [part]: cap },
  });
  const steps: readonly { shortest: number; with: (trims: Trims, size: number) => Trims }[] = [
    { shortest: SHORTEST_ITEM, with: capped("before") },
    { shortest: 0, with: (trims, room) => ({ ...trims, room: Math.min(room, trims.room ?? room) }) },
    { shortest: SHORTEST_ITEM, with: capped("own") },
    { shortest: SHORTEST_ITEM, with: capped("due") },
  ];
  let trims = start;
  let context = assemble(sources, trims);
  for (const step of steps) {
    if (context.tokens <= limit) return context;
    let low = step.shortest;
    let high = limit;
    // The largest that fits; the shortest where none does.
    while (low + 8 < high) {
      const middle = Math.floor((low + high) / 2);
      if (assemble(sources, step.with(trims, middle)).tokens <= limit) low = middle;
      else high = middle;
    }
    trims = step.with(trims, low);
    context = assemble(sources, trims);
  }
  const { before, own } = turnView(sources.history, sources.turn);
  for (const seq of legalCuts([...before, ...own].filter(isToolEntry))) {
    if (context.tokens <= limit) break;
    context = assemble(sources, { ...trims, callsFrom: seq + 1 });
  }
  return context;
}
