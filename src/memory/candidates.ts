import type { Rejection, Wish, WishTopic } from "../core/wish.ts";
import { terms } from "../text/terms.ts";
import { marksOf } from "./statement-marks.ts";

/**
 * Candidates: how an agent may have to answer in a channel, made of the wishes that people said there. A candidate's state is
 * never stored: it follows from its wishes and the time, so that a wish that is deleted or edited away takes its weight with it.
 *
 *             two messages,              a turn was
 *              score ≥ 0.75               shown it
 *   ┌────────┐ ───────────► ┌──────────┐ ──────────► ┌────────┐
 *   │ shadow │              │ promoted │             │ in use │    shown to the model: promoted, in use
 *   └────────┘ ◄─────────── └──────────┘             └────────┘
 *     ▲    ▲   score < 0.75      │                     │   │
 *     │    └─────────────────────┼─────────────────────┘   │
 *     │ after 3 days, without    │ corrected               │ corrected
 *     │ what was said before     ▼                         │
 *     │                     ┌─────────┐                    │
 *     └──────────────────── │ demoted │ ◄──────────────────┘
 *                           └─────────┘
 *   score: messages / (messages + corrections + a third of the answers that failed), less as time goes by
 *   each ── nobody has said it for 90 days ──► archived; a person ends it ──► its wishes are deleted
 *
 * Pure.
 */
export type CandidateState = "shadow" | "promoted" | "in use" | "demoted" | "archived";

export interface Candidate {
  /** Of its first wish: what `/learned` shows, and `/forget` takes. */
  readonly id: number;
  readonly topic: WishTopic;
  /** Id of the person whom it is for; null: everybody. */
  readonly person: string | null;
  /** As it was said last. */
  readonly wish: string;
  readonly state: CandidateState;
  /** 0 to 1. */
  readonly score: number;
  /** Messages that say so, since it was last corrected. */
  readonly evidence: number;
  /** How often somebody said the contrary. */
  readonly corrections: number;
  /** Answers by it that whom it is for has marked as bad ones; where it is for everybody, people who have marked one. */
  readonly failures: number;
  /** All that say so, oldest first. */
  readonly wishes: readonly Wish[];
}

const DAY_MS = 86_400_000;
/** Messages that must say so. */
const LEAST_EVIDENCE = 2;
const LEAST_SCORE = 0.75;
/** What a failed answer weighs of a correction: it may have failed for another reason. */
const FAILURE = 1 / 3;
/** So long after it was last said its score is whole; from then on it halves again and again. */
const GRACE_DAYS = 7;
const HALF_LIFE_DAYS = 30;
const COOL_DOWN_DAYS = 3;
const RETENTION_DAYS = 90;
/** What is said again within this time, in these words, is the same. */
const SAME_WITHIN_DAYS = 30;
const SAME_WORDS = 0.5;

/** A candidate while its wishes are read. */
interface Reading {
  readonly wishes: Wish[];
  readonly corrected: Date[];
}

/**
 * @param wishes of one channel, or of a thread and its channel; in any order
 * @param answeredAt when the channel's newest turn began; null: it is unknown, and nothing counts as in use
 * @param rejections of the channel's answers
 * @returns by their ids
 */
export function candidatesOf(
  wishes: readonly Wish[],
  now: Date,
  answeredAt: Date | null = null,
  rejections: readonly Rejection[] = [],
): Candidate[] {
  return readAll(wishes)
    .map((one) => candidateOf(one, now, answeredAt, rejections))
    .filter((one) => one !== null)
    .toSorted((a, b) => a.id - b.id);
}

/** Those that a turn is shown which answers these people, the surest first. */
export function candidatesToShow(
  wishes: readonly Wish[],
  people: ReadonlySet<string>,
  now: Date,
  rejections: readonly Rejection[] = [],
): Candidate[] {
  if (wishes.length === 0) return [];
  return candidatesOf(wishes, now, null, rejections)
    .filter(({ state, person }) => state === "promoted" && (person === null || people.has(person)))
    .toSorted((a, b) => b.score - a.score || b.evidence - a.evidence || b.id - a.id);
}

/** The wishes of a history are the same objects from turn to turn, and what belongs together does not depend on the time. */
const READ = new WeakMap<readonly Wish[], readonly Reading[]>();

function readAll(wishes: readonly Wish[]): readonly Reading[] {
  const known = READ.get(wishes);
  if (known !== undefined) return known;
  const all: Reading[] = [];
  const inOrder = wishes
    // A wish for one person counts only where they have said it.
    .filter(({ person, asker }) => person === null || person === asker)
    .toSorted((a, b) => a.at.getTime() - b.at.getTime() || a.id - b.id);
  for (const wish of inOrder) read(wish, all);
  READ.set(wishes, all);
  return all;
}

/** Which candidate a wish belongs to, and which ones it corrects. */
function read(wish: Wish, known: Reading[]): void {
  const ofSame = known.filter(({ wishes: [first] }) => first !== undefined && isSameMatter(first, wish));
  const same = ofSame.findLast((one) => {
    const last = one.wishes.at(-1);
    return last !== undefined && isSameWish(last, wish) && isWithin(SAME_WITHIN_DAYS, last.at, wish.at);
  });
  for (const one of ofSame) {
    const last = one.wishes.at(-1);
    if (last === undefined) continue;
    const isTakenBack = wish.act === "stop" && (one === same || areAlike(last, wish));
    if (isTakenBack || (wish.act === "want" && isContrary(last, wish))) one.corrected.push(wish.at);
  }
  if (wish.act === "stop") return;
  if (same === undefined) known.push({ wishes: [wish], corrected: [] });
  else same.wishes.push(wish);
}

function candidateOf(
  { wishes, corrected }: Reading,
  now: Date,
  answeredAt: Date | null,
  rejections: readonly Rejection[],
): Candidate | null {
  const last = wishes.at(-1);
  if (last === undefined) return null;
  const correctedAt = corrected.at(-1) ?? null;
  const since = wishes.filter(({ at }) => correctedAt === null || at > correctedAt);
  const evidence = countMessages(since);
  const coolAt = correctedAt === null ? null : new Date(correctedAt.getTime() + COOL_DOWN_DAYS * DAY_MS);
  const failures = countFailures(
    { since, corrections: corrected.length, coolAt, person: last.person },
    rejections,
  );
  const score = scoreOf({ evidence, corrections: corrected.length, failures }, last.at, now);
  const counts = { evidence, score };
  return {
    id: Math.min(...wishes.map(({ id }) => id)),
    topic: last.topic,
    person: last.person,
    wish: last.wish,
    ...counts,
    state: stateOf({ ...counts, lastAt: last.at, correctedAt, provedAt: provedAt(since), now, answeredAt }),
    corrections: corrected.length,
    failures,
    wishes,
  };
}

interface Counts {
  readonly evidence: number;
  readonly corrections: number;
  readonly failures: number;
}

function scoreOf({ evidence, corrections, failures }: Counts, lastAt: Date, now: Date): number {
  return (evidence / (evidence + corrections + FAILURE * failures || 1)) * freshness(lastAt, now);
}

/**
 * Answers for which it was shown, and that failed, since it was last corrected. Of what is for everybody each person counts once, so
 * that nobody ends it alone.
 */
function countFailures(
  {
    since,
    corrections,
    coolAt,
    person,
  }: {
    readonly since: readonly Wish[];
    readonly corrections: number;
    /** Until then it was demoted; null: it was never corrected. */
    readonly coolAt: Date | null;
    readonly person: string | null;
  },
  rejections: readonly Rejection[],
): number {
  const failed = new Set<string>();
  for (const one of rejections.toSorted((a, b) => a.at.getTime() - b.at.getTime())) {
    if (person !== null && one.person !== person) continue;
    const known = since.filter(({ learnedAt }) => learnedAt < one.at);
    const last = known.at(-1);
    const evidence = countMessages(known);
    if (last === undefined || evidence < LEAST_EVIDENCE || (coolAt !== null && one.at <= coolAt)) continue;
    if (scoreOf({ evidence, corrections, failures: failed.size }, last.at, one.at) < LEAST_SCORE) continue;
    failed.add(person === null ? one.person : String(one.turn));
  }
  return failed.size;
}

function stateOf(known: {
  readonly evidence: number;
  readonly score: number;
  readonly lastAt: Date;
  readonly correctedAt: Date | null;
  /** When the last of the messages that it needs was kept. */
  readonly provedAt: Date | null;
  readonly now: Date;
  readonly answeredAt: Date | null;
}): CandidateState {
  const { lastAt, correctedAt, provedAt: proved, answeredAt, now } = known;
  if (!isWithin(RETENTION_DAYS, lastAt, now)) return "archived";
  if (correctedAt !== null && isWithin(COOL_DOWN_DAYS, correctedAt, now)) return "demoted";
  if (proved === null || known.evidence < LEAST_EVIDENCE || known.score < LEAST_SCORE) return "shadow";
  const cooledAt = (correctedAt?.getTime() ?? 0) + COOL_DOWN_DAYS * DAY_MS;
  const promotedAt = Math.max(proved.getTime(), correctedAt === null ? 0 : cooledAt);
  return answeredAt !== null && answeredAt.getTime() > promotedAt ? "in use" : "promoted";
}

/** When the second message was kept. */
function provedAt(wishes: readonly Wish[]): Date | null {
  const times = new Map(wishes.map((wish) => [messageOf(wish), wish.learnedAt.getTime()]));
  const second = [...times.values()].toSorted((a, b) => a - b)[LEAST_EVIDENCE - 1];
  return second === undefined ? null : new Date(second);
}

/** What is said twice in one message is said once. */
function countMessages(wishes: readonly Wish[]): number {
  return new Set(wishes.map(messageOf)).size;
}

function messageOf({ channel, seq }: Wish): string {
  return `${channel} ${seq}`;
}

/** 1 within the days of grace, then half after each half-life. */
function freshness(lastAt: Date, now: Date): number {
  const days = Math.max(0, now.getTime() - lastAt.getTime()) / DAY_MS;
  return 2 ** (-Math.max(0, days - GRACE_DAYS) / HALF_LIFE_DAYS);
}

function isWithin(days: number, from: Date, to: Date): boolean {
  return to.getTime() - from.getTime() < days * DAY_MS;
}

function isSameMatter(a: Wish, b: Wish): boolean {
  return a.topic === b.topic && a.person === b.person;
}

/** An answer has one language and one length: whoever wants another one wants this one no more. */
const HAS_ONE: ReadonlySet<WishTopic> = new Set(["language", "length"]);

function isContrary(a: Wish, b: Wish): boolean {
  return !isSameWish(a, b) && (HAS_ONE.has(a.topic) || areAlike(a, b));
}

/** The same words, or nearly, with the same numbers and negations. */
function isSameWish(a: Wish, b: Wish): boolean {
  return areAlike(a, b) && comparedBy(a).counts === comparedBy(b).counts;
}

function areAlike(a: Wish, b: Wish): boolean {
  return jaccard(comparedBy(a).words, comparedBy(b).words) >= SAME_WORDS;
}

interface Compared {
  readonly words: ReadonlySet<string>;
  /** Its numbers and negations. */
  readonly counts: string;
}

const COMPARED = new WeakMap<Wish, Compared>();

function comparedBy(wish: Wish): Compared {
  const known = COMPARED.get(wish) ?? {
    words: new Set(terms(wish.wish)).difference(COMMON),
    counts: marksOf(wish.wish)
      .marks.filter((mark) => /^[nx]:/.test(mark))
      .join(" "),
  };
  COMPARED.set(wish, known);
  return known;
}

/** The share of all words of two texts that both have; 0 to 1. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const all = a.union(b).size;
  return all === 0 ? 0 : a.intersection(b).size / all;
}

/** Words that are in wishes of all kinds, and tell none from another. */
const COMMON = new Set(
  terms(
    `answer answers reply replies respond write speak talk use give keep put make begin start stop end always never only channel
    conversation everyone everybody question questions message messages`,
  ),
);
