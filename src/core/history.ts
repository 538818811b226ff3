import { type Entry, isEditNotice, type UserEntry } from "./entry.ts";
import { assert } from "./errors.ts";
import type { AgentId, Seq, TurnId } from "./ids.ts";
import type { Learned } from "./learned.ts";

/**
 * The history: what a turn sees of a channel's log, as a pure fold over its rows.
 *
 * Every entry is in exactly one of three places: covered by a live summary (or a reset), omitted by emergency,
 * or raw. Watermarks say where each begins: 1..coveredTo, coveredTo+1..omittedTo, and the rest.
 */
export interface History {
  /** Live summaries, oldest first; they tile 1..coveredTo. */
  readonly summaries: readonly Summary[];
  readonly coveredTo: Seq;
  readonly omittedTo: Seq;
  readonly settledTo: Seq;
  readonly lastSeq: Seq;
  /** Entries that are left out of the view until a summary covers them; null: nothing is left out. */
  readonly omission: Omission | null;
  /** The raw entries, by seq: all those after both coveredTo and omittedTo. */
  readonly entries: readonly Entry[];
  /** Summaries that are written ahead, by seq. They are in no view before their commit. */
  readonly ahead: readonly Stretch[];
  readonly learned: Learned;
}

/** The range of a summary that is written and waits for its commit. */
export interface Stretch {
  readonly kind: "leaf" | "merge";
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
}

export interface SummarySpan {
  /** Messages, calls and results; notices are not counted. At least 1. */
  readonly messages: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

export interface Summary {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** Null: a reset, or nothing that is counted. */
  readonly span: SummarySpan | null;
  readonly level: number;
  readonly kind: "model" | "digest" | "reset";
  readonly text: string;
  readonly tokens: number;
  /** It is a digest, or a text in its range was edited: a model must write it again. */
  readonly needsRedo: boolean;
}

export interface Omission {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** Messages, calls and results; notices are not counted. */
  readonly count: number;
  readonly tokens: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** The joint span of neighbouring summaries; null: all are unknown. */
export function joinSpans(spans: readonly (SummarySpan | null)[]): SummarySpan | null {
  const known = spans.filter((span) => span !== null);
  if (known.length === 0) return null;
  return {
    messages: known.reduce((sum, { messages }) => sum + messages, 0),
    firstAt: new Date(Math.min(...known.map(({ firstAt }) => firstAt.getTime()))),
    lastAt: new Date(Math.max(...known.map(({ lastAt }) => lastAt.getTime()))),
  };
}

/** A turn's claim: the due messages among fromSeq..toSeq. */
export interface TurnRange {
  readonly id: TurnId;
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** The agent that answers; left out: the channel's own agent. */
  readonly agent?: AgentId;
}

/** The raw view as one turn sees it, in the order in which the model reads it. */
export interface TurnView {
  /** Entries before the turn's messages. */
  readonly before: readonly Entry[];
  /** The messages with which the turn began, and the messages between them that are only read. */
  readonly due: readonly Entry[];
  /** The turn's calls and results so far, and the messages that it has taken in between them. */
  readonly own: readonly Entry[];
}

export function rawFrom(history: Pick<History, "coveredTo" | "omittedTo">): Seq {
  return Math.max(history.coveredTo, history.omittedTo) + 1;
}

/** First seq after the last `/reset`: earlier entries are not recalled. */
export function afterReset({ summaries }: Pick<History, "summaries">): Seq {
  return (summaries.findLast(({ kind }) => kind === "reset")?.toSeq ?? 0) + 1;
}

/** Up to here entries are covered, or their summary is written ahead, without a gap. */
export function writtenTo({ coveredTo, ahead }: Pick<History, "coveredTo" | "ahead">): Seq {
  let to = coveredTo;
  for (const { kind, fromSeq, toSeq } of ahead) if (kind === "leaf" && fromSeq === to + 1) to = toSeq;
  return to;
}

/** Whether cuts and omissions count it: messages, calls and results, not Weir's own notices. */
export function isCounted(entry: Entry): boolean {
  return entry.kind !== "notice";
}

/** Whether the built-in stand-in wrote it, which only quotes. */
export function isOfStandIn(entry: Entry): boolean {
  return "standIn" in entry;
}

/** The message after which an entry stands in the view; null for entries that stand where they arrived. */
function standsAfter(entry: Entry): Seq | null {
  return entry.kind === "user" ? null : entry.after;
}

/**
 * Sorts entries into the order of the view: a turn's messages, its calls with their results, its answer, and then entries that
 * arrived during the turn, whatever the seqs.
 */
export function viewOrder(entries: readonly Entry[]): readonly Entry[] {
  // If no message arrived during a turn, the log is in the order of the view.
  return entries.every(
    (entry, index) => index === 0 || compareInView(entries[index - 1] ?? entry, entry) <= 0,
  )
    ? entries
    : entries.toSorted(compareInView);
}

function compareInView(a: Entry, b: Entry): number {
  const afterA = standsAfter(a);
  const afterB = standsAfter(b);
  return (
    (afterA ?? a.seq) - (afterB ?? b.seq) ||
    Number(afterA !== null) - Number(afterB !== null) ||
    a.seq - b.seq
  );
}

/**
 * Splits the raw view for a turn. Entries that arrived after the turn's last message are not part of it, nor earlier ones of the
 * stand-in: a model would take its quotes for its own answers.
 */
export function turnView(history: History, turn: TurnRange): TurnView {
  const before: Entry[] = [];
  const due: Entry[] = [];
  const own: Entry[] = [];
  for (const entry of viewOrder(history.entries)) {
    const after = standsAfter(entry);
    if ("turnId" in entry && entry.turnId === turn.id) own.push(entry);
    else if ((after ?? entry.seq) < turn.fromSeq) {
      if (!isOfStandIn(entry)) before.push(entry);
    } else if (after === null && entry.seq <= turn.toSeq) (own.length === 0 ? due : own).push(entry);
  }
  return { before, due, own };
}

/** The last message with which a turn began: those after it were taken in later, after its first calls. */
export function begunTo(
  { entries }: Pick<History, "entries">,
  { id, toSeq }: Omit<TurnRange, "fromSeq">,
): Seq {
  const first = entries.find((entry) => "turnId" in entry && entry.turnId === id);
  return first === undefined ? toSeq : (standsAfter(first) ?? toSeq);
}

export function dueMessages(history: History): UserEntry[] {
  // By seq, since due messages are at the end.
  const from = history.entries.findLastIndex(({ seq }) => seq <= history.settledTo) + 1;
  return history.entries
    .slice(from)
    .filter((entry): entry is UserEntry => entry.kind === "user" && entry.addressed);
}

/** The messages that a turn answers, without deleted ones. */
export function answeredMessages(history: History, { toSeq }: Pick<TurnRange, "toSeq">): UserEntry[] {
  return dueMessages(history).filter(({ seq, deleted }) => seq <= toSeq && !deleted);
}

/** Whether a message that a turn answers was edited after the turn's start: a notice after it reports that. */
export function isEditedSince(history: History, { fromSeq, toSeq }: TurnRange): boolean {
  const answered = new Set(
    history.entries
      .filter((entry) => entry.kind === "user" && entry.addressed && !entry.deleted)
      .map(({ seq }) => seq)
      .filter((seq) => seq >= fromSeq && seq <= toSeq),
  );
  return history.entries.some(
    (entry) => entry.seq > toSeq && isEditNotice(entry) && !entry.deleted && answered.has(entry.edits.seq),
  );
}

/** Adds entries that the log has appended; they must be the next ones. */
export function appendEntries(history: History, entries: readonly Entry[]): History {
  if (entries.length === 0) return history;
  let lastSeq = history.lastSeq;
  for (const entry of entries) {
    assert(entry.seq === lastSeq + 1, `entry ${entry.seq} follows ${lastSeq}`);
    lastSeq = entry.seq;
  }
  return { ...history, entries: [...history.entries, ...entries], lastSeq };
}

/** Records that every addressed message up to `toSeq` is settled. */
export function settle(history: History, toSeq: Seq): History {
  return { ...history, settledTo: Math.max(history.settledTo, toSeq) };
}

/** Moves the raw entries up to `toSeq` into the omitted range. The log must have committed it. */
export function omit(history: History, toSeq: Seq): History {
  if (toSeq <= history.omittedTo) return history;
  // A summary came first.
  if (toSeq <= history.coveredTo) return { ...history, omittedTo: toSeq };
  assert(legalCuts(history.entries).has(toSeq), `an omission up to ${toSeq} splits a call from its results`);
  const leaving = history.entries.filter((entry) => entry.seq <= toSeq);
  return {
    ...history,
    omittedTo: toSeq,
    omission: extendOmission(history, leaving, toSeq),
    entries: history.entries.filter((entry) => entry.seq > toSeq),
  };
}

/** Applies committed summaries: their entries leave the view, and an omission shrinks to the entries that they do not cover. */
export function cover(
  history: History,
  to: Pick<History, "coveredTo" | "summaries" | "omission" | "ahead" | "learned">,
): History {
  assert(to.coveredTo >= history.coveredTo, `coveredTo falls from ${history.coveredTo} to ${to.coveredTo}`);
  const from = rawFrom({ coveredTo: to.coveredTo, omittedTo: history.omittedTo });
  // A summary written ahead is in no view, so an unchanged list stays the same object, and results derived from it stay valid.
  const isSame = JSON.stringify(history.summaries) === JSON.stringify(to.summaries);
  const summaries = isSame ? history.summaries : to.summaries;
  return { ...history, ...to, summaries, entries: history.entries.filter(({ seq }) => seq >= from) };
}

function extendOmission(history: History, leaving: readonly Entry[], toSeq: Seq): Omission | null {
  const counted = leaving.filter(isCounted);
  const known = history.omission;
  const times = counted.map((entry) => entry.at.getTime());
  if (known !== null) times.push(known.firstAt.getTime(), known.lastAt.getTime());
  if (times.length === 0) return null;
  const sorted = times.toSorted((a, b) => a - b);
  return {
    fromSeq: history.coveredTo + 1,
    toSeq,
    count: counted.length + (known?.count ?? 0),
    tokens: leaving.reduce((sum, entry) => sum + entry.tokens, known?.tokens ?? 0),
    firstAt: new Date(sorted[0] ?? 0),
    lastAt: new Date(sorted.at(-1) ?? 0),
  };
}

/** The seqs at which the view may end without separating a call from its results. */
export function legalCuts(entries: readonly Entry[]): Set<Seq> {
  const open = new Set<string>();
  const cuts = new Set<Seq>();
  for (const entry of entries) {
    if (entry.kind === "tool_call") for (const call of entry.calls) open.add(`${entry.turnId}/${call.id}`);
    if (entry.kind === "tool_result") open.delete(`${entry.turnId}/${entry.callId}`);
    if (open.size === 0) cuts.add(entry.seq);
  }
  return cuts;
}
