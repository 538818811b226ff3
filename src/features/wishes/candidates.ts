import type { Refusal, Rejection, Wish, WishTopic } from "./wish.ts";
import { areAlike, hasAllWords, isContrary, isSameMatter, isSameWish } from "./compare-wishes.ts";

/**
 * Candidates: how an agent may have to answer in a channel, made of the wishes that people said there. A candidate's state is
 * never stored: it follows from its wishes and the time, so that a wish that is deleted or edited away takes its weight with it.
 *
 *            two people ask for
 *            it, score ≥ 0.75
 *            (for one person:           a turn was
 *             two messages)              shown it
 *   ┌────────┐ ───────────► ┌──────────┐ ──────────► ┌────────┐
 *   │ shadow │              │ promoted │             │ in use │    shown to the model: promoted, in use
 *   └────────┘ ◄─────────── └──────────┘             └────────┘
 *     ▲    ▲   score < 0.75      │                     │   │
 *     │    └─────────────────────┼─────────────────────┘   │
 *     │ after 3 days             │ corrected (for          │ corrected
 *     │                          ▼  everybody: by two)     │
 *     │                     ┌─────────┐                    │
 *     └──────────────────── │ demoted │ ◄──────────────────┘
 *                           └─────────┘
 *   each ── not said for 90 days ──► archived; a person ends it ──► its wishes are deleted
 *
 * No single person speaks for everybody: for a wish for everybody each person counts once, by their newest word, and one
 * opponent ends it for themselves only. A person who asks for it in two messages has it in answers to them, until a second person
 * asks for it. A person's wish for themselves counts by messages, since their last correction.
 *
 *   score: for / (for + against + a third of the answers that failed), less as time goes by
 *
 * Pure.
 */
export type CandidateState = "shadow" | "promoted" | "in use" | "demoted" | "archived";

export interface Candidate {
  /** Id of its first wish, which `/learned` shows and `/forget` takes. */
  readonly id: number;
  readonly topic: WishTopic;
  /** Id of the person whom it is for; null: everybody. */
  readonly person: string | null;
  /** Its newest wording; for everybody: the newest wording whose words two people have said. */
  readonly wish: string;
  readonly state: CandidateState;
  /** 0 to 1. */
  readonly score: number;
  /** For one person: messages with the wish since its last correction. For everybody: people whose newest word has it. */
  readonly evidence: number;
  /** For one person: their contrary words. For everybody: people whose newest word is contrary. */
  readonly corrections: number;
  /** Answers with it that its person has marked as bad; for everybody: people who have marked one. */
  readonly failures: number;
  /** Ids of the people who want it. */
  readonly wantedBy: ReadonlySet<string>;
  /** For everybody, with too few supporters: people who said it twice, and have it in answers to them, with their own words. */
  readonly usedFor: ReadonlyMap<string, string>;
  /** For everybody: ids of the people who refuse it for themselves. */
  readonly refusedBy: ReadonlySet<string>;
  /** All that say so, oldest first. */
  readonly wishes: readonly Wish[];
}

const DAY_MS = 86_400_000;
/** Messages of one person, or people, that must say so. */
const LEAST_EVIDENCE = 2;
/** People whose contrary counts for everybody. */
const LEAST_AGAINST = 2;
const LEAST_SCORE = 0.75;
/** Weight of a failed answer, in corrections: it may have failed for another reason. */
const FAILURE = 1 / 3;
/** Days after its last wish in which a score does not fall; then it halves with each half-life. */
const GRACE_DAYS = 7;
const HALF_LIFE_DAYS = 30;
const COOL_DOWN_DAYS = 3;
const RETENTION_DAYS = 90;
/** The same wish in the same words within this time counts as one candidate. */
const SAME_WITHIN_DAYS = 30;

/** Wishes that say the same. */
interface Reading {
  readonly wishes: Wish[];
  /** Wishes and refusals to the contrary, oldest first. */
  readonly against: readonly Against[];
}

interface Against extends Refusal {
  /** False: that person refuses it for themselves only. */
  readonly isForAll: boolean;
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
  const times: Times = { now, answeredAt, rejections };
  return readAll(wishes)
    .map((one) => (one.wishes[0]?.person === null ? forEverybody(one, times) : forOne(one, times)))
    .filter((one) => one !== null)
    .toSorted((a, b) => a.id - b.id);
}

export interface ShownCandidate extends Candidate {
  /** Ids of the only people to whom it applies; null: everybody. */
  readonly only: ReadonlySet<string> | null;
}

/** The candidates for a turn that answers these people, the highest score first. */
export function candidatesToShow(
  wishes: readonly Wish[],
  people: ReadonlySet<string>,
  now: Date,
  rejections: readonly Rejection[] = [],
): ShownCandidate[] {
  if (wishes.length === 0) return [];
  return candidatesOf(wishes, now, null, rejections)
    .flatMap((one) => shownTo(one, people))
    .toSorted((a, b) => b.score - a.score || b.evidence - a.evidence || b.id - a.id);
}

function shownTo(one: Candidate, people: ReadonlySet<string>): ShownCandidate[] {
  const { person, state, usedFor, refusedBy } = one;
  if (state !== "promoted") {
    return [...usedFor].flatMap(([id, wish]) =>
      people.has(id) ? [{ ...one, wish, only: new Set([id]) }] : [],
    );
  }
  if (person !== null) return people.has(person) ? [{ ...one, only: new Set([person]) }] : [];
  return people.size === 0 || !people.isSubsetOf(refusedBy) ? [{ ...one, only: null }] : [];
}

/** Readings by wishes: a history holds the same objects from turn to turn, and the grouping does not depend on the time. */
const READ = new WeakMap<readonly Wish[], readonly Reading[]>();

function readAll(wishes: readonly Wish[]): readonly Reading[] {
  const known = READ.get(wishes);
  if (known !== undefined) return known;
  const inOrder = wishes
    // A wish for one person counts only if they have said it themselves.
    .filter(({ person, asker }) => person === null || person === asker)
    .toSorted((a, b) => a.at.getTime() - b.at.getTime() || a.id - b.id);
  const all = groupSame(inOrder).map((same) => ({ wishes: same, against: whatIsAgainst(same, inOrder) }));
  READ.set(wishes, all);
  return all;
}

/** @param inOrder oldest first */
function groupSame(inOrder: readonly Wish[]): Wish[][] {
  const all: Wish[][] = [];
  for (const wish of inOrder) {
    if (wish.act === "stop") continue;
    const same = all.findLast((one) => {
      const last = one.at(-1);
      return (
        last !== undefined &&
        isSameMatter(last, wish) &&
        isSameWish(last, wish) &&
        isWithin(SAME_WITHIN_DAYS, last.at, wish.at)
      );
    });
    if (same === undefined) all.push([wish]);
    else same.push(wish);
  }
  return all;
}

function whatIsAgainst(same: readonly Wish[], inOrder: readonly Wish[]): Against[] {
  const last = same.at(-1);
  if (last === undefined) return [];
  const first = inOrder.findIndex((one) => one === same[0]);
  const contrary = inOrder.flatMap((wish, index): Against[] => {
    const { topic, person, asker, at, act } = wish;
    const concerns = topic === last.topic && (last.person === null || last.person === person);
    // For one person's wish only later words count against it.
    if (!concerns || (last.person !== null && index < first) || same.includes(wish)) return [];
    const isContraryWish = act === "stop" ? areAlike(last, wish) : isContrary(last, wish);
    return isContraryWish ? [{ person: asker, at, isForAll: person === last.person }] : [];
  });
  const refused = same.flatMap(({ refusals }) => refusals.map((one) => ({ ...one, isForAll: false })));
  return [...contrary, ...refused].toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/** The time of the reading, and the facts known by then. */
interface Times {
  readonly now: Date;
  readonly answeredAt: Date | null;
  readonly rejections: readonly Rejection[];
}

function forOne({ wishes, against }: Reading, times: Times): Candidate | null {
  const last = wishes.at(-1);
  if (last === undefined) return null;
  const correctedAt = against.at(-1)?.at ?? null;
  const since = wishes.filter(({ at }) => correctedAt === null || at > correctedAt);
  const coolAt = correctedAt === null ? null : new Date(correctedAt.getTime() + COOL_DOWN_DAYS * DAY_MS);
  const judged = judge(
    { wishes, since, corrections: against.length, coolAt, counted: BY_MESSAGES },
    (one) => (one.person === last.asker ? String(one.turn) : null),
    times,
  );
  const isDemoted = judged.state !== "archived" && coolAt !== null && times.now < coolAt;
  return {
    ...described(wishes, last),
    ...judged,
    ...(isDemoted && { state: "demoted" as const }),
    wantedBy: new Set([last.asker]),
    usedFor: new Map(),
    refusedBy: new Set(),
  };
}

function forEverybody(reading: Reading, times: Times): Candidate | null {
  const { wishes, against } = reading;
  const last = wishes.at(-1);
  if (last === undefined) return null;
  const wantedLast = new Map(wishes.map(({ asker, at }) => [asker, at]));
  const isNewest = ({ person, at }: Against): boolean => at >= (wantedLast.get(person) ?? new Date(0));
  const newest = against.filter(isNewest);
  const opposedLast = new Map(
    newest.filter(({ isForAll }) => isForAll).map(({ person, at }) => [person, at]),
  );
  const wanted = wishes.filter(({ asker }) => !opposedLast.has(asker));
  const agreed = wanted.findLast((one) => countOf(sayingAll(one, wanted), BY_PEOPLE) >= LEAST_EVIDENCE);
  const since = sayingAll(agreed ?? last, wanted);
  const isOpposed = opposedLast.size >= LEAST_AGAINST;
  const judged = judge(
    { wishes, since, corrections: isOpposed ? opposedLast.size : 0, coolAt: null, counted: BY_PEOPLE },
    ({ person }) => person,
    times,
  );
  const opposedAt = newest.findLast(({ isForAll }) => isForAll)?.at ?? times.now;
  const isDemoted = judged.state === "shadow" && isOpposed && isWithin(COOL_DOWN_DAYS, opposedAt, times.now);
  const isShown = judged.state === "promoted" || judged.state === "in use";
  return {
    ...described(wishes, agreed ?? last),
    ...judged,
    ...(isDemoted && { state: "demoted" as const }),
    corrections: opposedLast.size,
    wantedBy: new Set(since.map(({ asker }) => asker)),
    usedFor: isShown ? new Map() : whoSaidItTwice(reading, times),
    refusedBy: new Set(newest.map(({ person }) => person)),
  };
}

function sayingAll(wish: Wish, among: readonly Wish[]): Wish[] {
  return among.filter((one) => hasAllWords(one, wish));
}

/** By person: their wish for everybody, counted as one for themselves. */
function whoSaidItTwice({ wishes, against }: Reading, times: Times): ReadonlyMap<string, string> {
  const used = new Map<string, string>();
  for (const [person, own] of Map.groupBy(wishes, ({ asker }) => asker)) {
    const first = own[0]?.at ?? times.now;
    const ownAgainst = against.filter((one) => one.person === person && one.at >= first);
    const alone = forOne({ wishes: own, against: ownAgainst }, times);
    if (alone?.state === "promoted" || alone?.state === "in use") used.set(person, alone.wish);
  }
  return used;
}

function described(
  wishes: readonly Wish[],
  { topic, person, wish }: Wish,
): Pick<Candidate, "id" | "topic" | "person" | "wish" | "wishes"> {
  return { id: Math.min(...wishes.map(({ id }) => id)), topic, person, wish, wishes };
}

interface Judging {
  readonly wishes: readonly Wish[];
  readonly since: readonly Wish[];
  readonly corrections: number;
  /** End of the demotion; null: it was never corrected. */
  readonly coolAt: Date | null;
  readonly counted: Counted;
}

/** How much wishes prove. */
interface Counted {
  /** Of two wishes with the same key one counts. */
  readonly keyOf: (wish: Wish) => string;
  /** The number of keys whose newest wishes determine the age of a candidate. */
  readonly freshBy: number;
}

/** A wish said twice in one message counts once, as does one in a thread's root, which the channel shows as well. */
const BY_MESSAGES: Counted = { keyOf: ({ message }) => message, freshBy: 1 };
/** Two people's wish is as old as the newest word of the second person, so no single person keeps it alive. */
const BY_PEOPLE: Counted = { keyOf: ({ asker }) => asker, freshBy: LEAST_EVIDENCE };

function countOf(wishes: readonly Wish[], { keyOf }: Counted): number {
  return new Set(wishes.map(keyOf)).size;
}

/**
 * @param wishes oldest first
 * @returns undefined if there are no wishes
 */
function saidLast(wishes: readonly Wish[], { keyOf, freshBy }: Counted): Date | undefined {
  const newest = new Set<string>();
  let last: Date | undefined;
  for (const wish of wishes.toReversed()) {
    if (newest.size < freshBy && !newest.has(keyOf(wish))) last = wish.at;
    newest.add(keyOf(wish));
  }
  return last;
}

/** @param rejectedBy the key under which a rejection counts once; null: it does not count */
function judge(
  judging: Judging,
  rejectedBy: (rejection: Rejection) => string | null,
  { now, answeredAt, rejections }: Times,
): Pick<Candidate, "score" | "evidence" | "corrections" | "failures" | "state"> {
  const { wishes, since, corrections, coolAt, counted } = judging;
  const lastAt = saidLast(since, counted) ?? now;
  const evidence = countOf(since, counted);
  const failures = countFailures(judging, rejectedBy, rejections);
  const score = scoreOf({ evidence, corrections, failures }, lastAt, now);
  const proved = provedAt(since, counted);
  const state = ((): CandidateState => {
    if (!isWithin(RETENTION_DAYS, wishes.at(-1)?.at ?? now, now)) return "archived";
    if (proved === null || score < LEAST_SCORE) return "shadow";
    const promotedAt = Math.max(proved.getTime(), coolAt?.getTime() ?? 0);
    return answeredAt !== null && answeredAt.getTime() > promotedAt ? "in use" : "promoted";
  })();
  return { score, evidence, corrections, failures, state };
}

type Counts = Pick<Candidate, "evidence" | "corrections" | "failures">;

function scoreOf({ evidence, corrections, failures }: Counts, lastAt: Date, now: Date): number {
  return (evidence / (evidence + corrections + FAILURE * failures || 1)) * freshness(lastAt, now);
}

/** Failed answers that were shown it since its last correction. */
function countFailures(
  { since, corrections, coolAt, counted }: Judging,
  rejectedBy: (rejection: Rejection) => string | null,
  rejections: readonly Rejection[],
): number {
  const failed = new Set<string>();
  for (const one of rejections.toSorted((a, b) => a.at.getTime() - b.at.getTime())) {
    const by = rejectedBy(one);
    if (by === null) continue;
    const known = since.filter(({ learnedAt }) => learnedAt < one.at);
    const last = saidLast(known, counted);
    const evidence = countOf(known, counted);
    if (last === undefined || evidence < LEAST_EVIDENCE || (coolAt !== null && one.at <= coolAt)) continue;
    if (scoreOf({ evidence, corrections, failures: failed.size }, last, one.at) < LEAST_SCORE) continue;
    failed.add(by);
  }
  return failed.size;
}

/** When it reached the least evidence; null: it has not. */
function provedAt(wishes: readonly Wish[], { keyOf }: Counted): Date | null {
  const keys = new Set<string>();
  for (const wish of wishes.toSorted((a, b) => a.learnedAt.getTime() - b.learnedAt.getTime())) {
    if (keys.add(keyOf(wish)).size >= LEAST_EVIDENCE) return wish.learnedAt;
  }
  return null;
}

/** 1 within the days of grace, then half after each half-life. */
function freshness(lastAt: Date, now: Date): number {
  const days = Math.max(0, now.getTime() - lastAt.getTime()) / DAY_MS;
  return 2 ** (-Math.max(0, days - GRACE_DAYS) / HALF_LIFE_DAYS);
}

function isWithin(days: number, from: Date, to: Date): boolean {
  return to.getTime() - from.getTime() < days * DAY_MS;
}
