import type { CompactionState, Decision } from "../../src/compactor/policy/policy.ts";
import { SUMMARY_LABEL_TOKENS } from "../../src/context/render.ts";
import { type JobPlan, MAX_LIVE_SUMMARIES } from "../../src/core/compaction.ts";
import type { Entry, UserEntry } from "../../src/core/entry.ts";
import { cover, type History, type Summary, type TurnRange } from "../../src/core/history.ts";
import { NOTHING_LEARNED } from "../../src/core/learned.ts";

export const EMPTY: History = {
  summaries: [],
  coveredTo: 0,
  omittedTo: 0,
  settledTo: 0,
  lastSeq: 0,
  omission: null,
  ahead: [],
  learned: NOTHING_LEARNED,
  entries: [],
};
export const START = Date.UTC(2026, 10, 21, 14, 5);
const MINUTE = 60_000;

/** A message that was only listened to, one minute after the one before. */
export function said(seq: number, values: Partial<UserEntry> = {}): UserEntry {
  return {
    kind: "user",
    seq,
    at: new Date(START + seq * MINUTE),
    deleted: false,
    tokens: 20,
    author: { id: "ann", name: "Ann", isBot: false },
    text: `line ${seq}`,
    messageId: `m${seq}`,
    replyTo: null,
    addressed: false,
    ...values,
  };
}

/** So many raw messages of 20 tokens behind what is covered and omitted. */
export function rawHistory(count: number, values: Partial<History> = {}): History {
  const history = { ...EMPTY, ...values };
  const from = Math.max(history.coveredTo, history.omittedTo) + 1;
  const entries = Array.from({ length: count }, (_, index) => said(from + index));
  return { ...history, entries, lastSeq: from + count - 1 };
}

/** Summaries of ten entries each, of these levels; they tile from 1. */
export function summariesOf(levels: readonly number[], values: Partial<Summary> = {}): Summary[] {
  return levels.map((level, index) => ({
    fromSeq: index * 10 + 1,
    toSeq: index * 10 + 10,
    level,
    kind: "model",
    span: null,
    text: `summary ${index}`,
    tokens: 30,
    needsRedo: false,
    ...values,
  }));
}

export interface Room {
  /** Tokens of the usable window. */
  readonly usable: number;
  readonly keepMessages?: number;
  readonly maxRawMessages?: number;
  readonly maxRawTokens?: number;
  /** Default: nothing is written ahead. */
  readonly stretchTokens?: number;
  readonly summaryCap?: number;
  /** Tokens of prompt and tools. */
  readonly fixed?: number;
}

export const tokensOf = (entry: Entry): number => entry.tokens;

/** What the compactor would see of this history. */
export function stateOf(
  history: History,
  room: Room,
  values: Partial<CompactionState> = {},
  turn: TurnRange | null = null,
): CompactionState {
  const { usable, keepMessages = 5, maxRawMessages = 1000, summaryCap = 40, fixed = 0 } = room;
  const summaryRoom = MAX_LIVE_SUMMARIES * (summaryCap + SUMMARY_LABEL_TOKENS);
  const { maxRawTokens = Infinity, stretchTokens = Infinity } = room;
  const waiting = history.entries.find(
    (entry) => entry.kind === "user" && entry.addressed && entry.seq > history.settledTo,
  );
  const parts = [...history.summaries, ...history.entries].map(({ tokens }) => tokens);
  return {
    history,
    tokens: parts.reduce((sum, tokens) => sum + tokens, fixed + (history.omission?.tokens ?? 0)),
    recallTokens: 0,
    tokenBudgetAt: (share) => share * usable,
    keepTokens: 0.4 * usable,
    summaryCap,
    summaryRoom,
    rules: {
      enabled: true,
      backgroundThreshold: 0.8,
      aggressiveThreshold: 0.85,
      emergencyThreshold: 0.95,
      target: 0.6,
      keepMessages,
      maxRawMessages,
      maxRawTokens,
      writeAhead: stretchTokens < Infinity,
    },
    stretchTokens,
    leastOfLeaf: stretchTokens < Infinity ? stretchTokens * 0.75 : 0,
    leadTokens: 0,
    firstKept: Math.min(waiting?.seq ?? history.lastSeq + 1, turn?.fromSeq ?? Infinity),
    tokensOf,
    isForced: false,
    redoOf: null,
    isResting: false,
    cutShort: null,
    ...values,
  };
}

/** The history after the commit of this plan: what a summary of so many tokens makes of it. */
export function commit(history: History, plan: JobPlan, tokens: number): History {
  const { fromSeq, toSeq, level, kind } = plan;
  const made: Summary = {
    fromSeq,
    toSeq,
    span: null,
    level,
    kind: "model",
    text: "s",
    tokens,
    needsRedo: false,
  };
  const left = history.summaries.filter((one) => one.toSeq < fromSeq || one.fromSeq > toSeq);
  const summaries = [...left, made].toSorted((a, b) => a.fromSeq - b.fromSeq);
  const coveredTo = kind === "leaf" ? toSeq : history.coveredTo;
  const omission = coveredTo >= history.omittedTo ? null : history.omission;
  const ahead = history.ahead.filter((one) => one.kind === "merge" || one.fromSeq > coveredTo);
  return cover(history, { coveredTo, summaries, omission, ahead, learned: history.learned });
}

/** The history once the summary of this plan is written ahead. */
export function writeAhead(history: History, { kind, fromSeq, toSeq }: JobPlan): History {
  if (kind === "redo") throw new Error("a redo is not written ahead");
  const ahead = [...history.ahead, { kind, fromSeq, toSeq }].toSorted((a, b) => a.fromSeq - b.fromSeq);
  return { ...history, ahead };
}

/** The history after the commit of all that was written ahead: merges first, then as many leafs as may be live. */
export function land(history: History, tokens: number): History {
  let landed = history;
  const plan = { tier: "background", sourceTokens: 0 } as const;
  for (const { kind, fromSeq, toSeq } of history.ahead.toSorted((a) => (a.kind === "merge" ? -1 : 1))) {
    if (kind === "merge") {
      const level =
        1 +
        Math.max(
          ...landed.summaries
            .filter((one) => one.fromSeq >= fromSeq && one.toSeq <= toSeq)
            .map((one) => Math.min(one.level, 2)),
        );
      landed = commit(
        { ...landed, ahead: landed.ahead.filter((one) => one.kind !== "merge") },
        { ...plan, kind, fromSeq, toSeq, level },
        tokens,
      );
    } else if (fromSeq === landed.coveredTo + 1 && landed.summaries.length < MAX_LIVE_SUMMARIES)
      landed = commit(landed, { ...plan, kind, fromSeq, toSeq, level: 1 }, tokens);
  }
  return landed;
}

/** As a person would name it: `leaf background 1-12`, `blocked aggressive`, `idle`. */
export function told(decision: Decision): string {
  if (decision.kind === "idle" || decision.kind === "land") return decision.kind;
  if (decision.kind === "blocked") return `blocked ${decision.tier}`;
  const { kind, tier, fromSeq, toSeq, level, isAhead } = decision.plan;
  return `${kind} ${tier} ${fromSeq}-${toSeq} at ${level}${isAhead === true ? ", ahead" : ""}`;
}
