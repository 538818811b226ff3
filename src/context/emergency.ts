import type { Context } from "../core/context.ts";
import { type History, isCounted, legalCuts, omit, turnView } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { estimateTokens } from "../text/tokens.ts";
import { assemble, type ContextSources, isToolEntry, NO_TRIMS, type Trims } from "./assemble.ts";
import { keepTokens, lastCoverable } from "./keep.ts";
import { summaryRoom } from "./summary-room.ts";
import { type Budget, leastRecalled, partAt, recalledTokens, tokenBudgetAt } from "./usage.ts";

/**
 * A request that fits the window at once and without a model. The view changes, never the log. The omission is only
 * proposed: the channel's actor makes it durable before the request is sent.
 */
export interface Fit {
  readonly context: Context;
  /** The history as the context shows it. */
  readonly history: History;
  /** The last entry to omit now; null: none. */
  readonly omitTo: Seq | null;
  /** Estimated tokens of the request before any trim. */
  readonly tokensBefore: number;
  /** The request exceeds the usable window even with every item at its shortest. */
  readonly overflows: boolean;
}

/** Smallest share of the raw entries that one omission takes. */
const OMIT_SHARE = 0.5;
/** Share of the usable window for names and recalled passages. */
const ROOM_SHARE = 0.35;
/** Shortest form of an item, in tokens. */
const SHORTEST_ITEM = 40;

/** Newest messages that a second omission spares: the one before the question, and the agent's last answer. */
const LAST_MESSAGES = 2;

/**
 * Fits a context into the budget. In order: with less recalled; without pictures and with short results of earlier turns; with hardly
 * anything recalled; an omission; caps; omissions of all settled entries but the last, and of all. Pure.
 */
export function fitContext(sources: ContextSources, budget: Budget): Fit {
  const emergency = tokenBudgetAt(budget, budget.emergencyThreshold);
  const { history } = sources;
  // Recall must not displace messages from the view.
  const trims: Trims = { ...NO_TRIMS, room: Math.floor(partAt(budget, ROOM_SHARE)) };
  const plain = assemble(sources, trims);
  const tokensBefore = plain.tokens;
  const whole = (context: Context): Fit => ({
    context,
    history,
    omitTo: null,
    tokensBefore,
    overflows: false,
  });
  if (plain.tokens < emergency) return whole(plain);
  const least = leastRecalled(partAt(budget, 1));
  const left = withLessRecalled(plain, emergency);
  const leaner = left < 0 ? plain : assemble(sources, { ...trims, recalled: left });
  if (left >= least && leaner.tokens < emergency) return whole(leaner);

  const plainest: Trims = { ...trims, recalled: least, withoutImages: true, stubs: true };
  const imageless = assemble(sources, plainest);
  if (imageless.tokens < tokenBudgetAt(budget, budget.aggressiveThreshold)) return whole(imageless);
  if (leaner.tokens < emergency) return whole(leaner);
  const limit = Math.floor(emergency) - 1;
  const attempt = (omitTo: Seq | null): Fit => {
    const shown = omitTo === null ? sources : { ...sources, history: omit(history, omitTo) };
    const omitted = assemble(shown, plainest);
    const context = omitted.tokens < emergency ? omitted : capItems(shown, plainest, limit);
    const overflows = context.tokens > tokenBudgetAt(budget, 1);
    return { context, history: shown.history, omitTo, tokensBefore, overflows };
  };
  let fit = attempt(planOmission(sources, budget, imageless.tokens));
  // Caps do not shorten many short messages.
  for (const keepMessages of [LAST_MESSAGES, 0]) {
    if (fit.context.tokens <= limit) break;
    fit = attempt(planOmission(sources, { ...budget, keepMessages }, imageless.tokens));
  }
  return fit;
}

/** Estimated tokens of recalled passages with which the request fits; negative: none. */
function withLessRecalled(context: Context, limit: number): number {
  return Math.floor(recalledTokens(context) - (context.tokens - limit)) - HEAD_GROWTH_TOKENS;
}

/**
 * Plans an omission: the oldest half of the raw entries, and more until the projected usage reaches the target, in
 * whole groups. It spares the newest messages that must be kept, and all that wait for their turn.
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

/** Most estimated tokens by which a line's head grows when the line before it leaves the view. */
const HEAD_GROWTH_TOKENS = 16;
/** Estimated tokens of the line before an assistant's message that would otherwise be the first. */
const OPENING_TOKENS = 24;

/** Estimated tokens that the marker of a first omission adds. */
function markerTokens({ history, dynamic }: ContextSources): number {
  const [first] = history.entries;
  if (history.omission !== null || first === undefined) return 0;
  const { seq, at } = first;
  const count = history.entries.length;
  const lastAt = new Date(at.getTime() + 60_000);
  const marked = { fromSeq: seq, toSeq: history.lastSeq, count, tokens: 0, firstAt: at, lastAt };
  return estimateTokens(dynamic.make(marked, 0).text) - estimateTokens(dynamic.make(null, 0).text);
}

/** The last entry before the newest kept ones, and before the oldest waiting one. */
function lastOmittable(sources: ContextSources, budget: Budget): Seq {
  const { history, turn, renderer, tools, system } = sources;
  const fixed = renderer.toolTokens(tools) + renderer.system(system).tokens;
  const last = lastCoverable(history.entries, {
    firstKept: turn.fromSeq,
    keepMessages: budget.keepMessages,
    maxTokens: keepTokens(budget, fixed + summaryRoom(budget, fixed)),
    tokensOf: renderer.stubTokens(history.entries),
  });
  const waiting = history.entries.find(
    (entry) => entry.kind === "user" && entry.addressed && entry.seq > history.settledTo,
  );
  return Math.min(last, (waiting?.seq ?? Infinity) - 1);
}

/**
 * Caps each remaining item: first recalled passages, then the oldest, then the rest of the part made for each turn, then this turn's
 * tool results, last the messages to answer. If that is not enough, the oldest calls are left out with their results: those of this turn, and of the
 * last one if it still ran when this turn's first message arrived.
 */
function capItems(sources: ContextSources, start: Trims, limit: number): Context {
  const capped = (part: keyof Trims["cap"]) => (trims: Trims, cap: number) => ({
    ...trims,
    cap: { ...trims.cap, [part]: cap },
  });
  const steps: readonly { shortest: number; with: (trims: Trims, size: number) => Trims }[] = [
    {
      shortest: 0,
      with: (trims, recalled) => ({ ...trims, recalled: Math.min(recalled, trims.recalled ?? recalled) }),
    },
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
    // The largest size that fits; if none does, the shortest.
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
