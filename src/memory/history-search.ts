import { instantOf } from "../async/occurrences.ts";
import { nearestName } from "../config/nearest-name.ts";
import type { EntryReference } from "../core/entry.ts";
import type { AgentId, Seq } from "../core/ids.ts";
import type { DayRange } from "../core/memory.ts";
import type {
  LineFilter,
  LineRange,
  SpokenBy,
  SpokenLineStore,
  SpokenName,
} from "../store/search/spoken-lines.ts";
import { normalWords } from "../text/normal-text.ts";
import { newestWords } from "../text/text.ts";
import { createTimeFormat, dayBeside } from "../text/time.ts";
import { namedTimes, parseTime, span } from "./named-times.ts";
import { type Explaining, MAX_QUERY, type Recall } from "./recall.ts";
import { fittingLines, fittingResults } from "./recall-worth.ts";

/** What a model looks for in the log of a channel. */
export interface HistoryRequest {
  /** Null: any line of the person or the time, the newest first. */
  readonly query: string | null;
  /** Most results of a page. */
  readonly limit: number;
  /** From 1. */
  readonly page: number;
  /** A name; null: whoever said it. */
  readonly person: string | null;
  /** Days, in words or as dates; null: whenever it was said. */
  readonly when: string | null;
  /** Lines on each side of a result. */
  readonly context: number;
}

export type HistoryFound =
  | {
      readonly kind: "found";
      /** In the order in which they were said. */
      readonly lines: readonly EntryReference[];
      /** There may be more on the next page. */
      readonly hasMore: boolean;
    }
  | { readonly kind: "unread_time" }
  /** Nobody spoke under that name; `like`: the newest messages under similar ones. */
  | { readonly kind: "unknown_person"; readonly like: readonly EntryReference[] };

/** Messages by their numbers. */
export interface ReadRequest {
  readonly from: Seq;
  /** Null: to the end of the summary in which `from` stands. */
  readonly to: Seq | null;
}

export interface MessagesRead {
  readonly lines: readonly EntryReference[];
  /** The first line that had no room; null: there is none. */
  readonly next: Seq | null;
}

/** What may be searched, and for whom. */
export interface SearchedLog extends LineRange {
  /** In which days are meant. */
  readonly timeZone: string;
  /** Names of the people who have asked; default: unknown. */
  readonly askers?: readonly string[];
  /** The agent that asks, by its names; default: it has not spoken there. */
  readonly self?: { readonly names: readonly string[]; readonly agent: AgentId | null };
  readonly signal: AbortSignal;
}

/** Lines that are ranked for a filter, and for the pages after the first. */
const DEPTH = 200;
/** Lines of one reading. */
const MOST_LINES = 50;
/** Names that are like a misspelt one. */
const MOST_LIKE = 3;

const ANY: LineFilter = { by: null, since: null, until: null };

/** Searches and reads the log of a channel for a model, page by page. */
export class HistorySearch {
  readonly #recall: Pick<Recall, "rank">;
  readonly #lines: SpokenLineStore;
  readonly #now: () => Date;

  constructor(recall: Pick<Recall, "rank">, lines: SpokenLineStore, now: () => Date) {
    this.#recall = recall;
    this.#lines = lines;
    this.#now = now;
  }

  /** @param explaining memories that may explain the words of the query */
  async search(request: HistoryRequest, log: SearchedLog, explaining: Explaining): Promise<HistoryFound> {
    const { channel, from, to, signal } = log;
    if (to < from) return NOTHING;
    const period = periodOf(request.when, log.timeZone, this.#now());
    if (period === null) return { kind: "unread_time" };
    const named = await this.#named(request.person, log);
    if ("like" in named) {
      const like = await this.#lines.at(channel, named.like, signal);
      return { kind: "unknown_person", like };
    }
    const isFiltered = request.person !== null || request.when !== null;
    const filter: LineFilter = isFiltered ? { ...period, by: named.by } : ANY;
    const range = isFiltered ? await this.#lines.span(log, filter, signal) : { from, to };
    if (range === null) return NOTHING;
    return this.#page(request, log, await this.#ranked(request, { ...log, ...range }, filter, explaining));
  }

  /** @param end the last message of the summary that covers `from`; null: no summary covers it */
  async read({ from, to }: ReadRequest, log: SearchedLog, end: Seq | null): Promise<MessagesRead> {
    const range = {
      channel: log.channel,
      from: Math.max(from, log.from),
      to: Math.min(to ?? end ?? log.to, log.to),
    };
    if (range.to < range.from) return { lines: [], next: null };
    const found = await this.#lines.first(range, MOST_LINES + 1, log.signal);
    const lines = fittingLines(found.slice(0, MOST_LINES));
    return { lines, next: found[lines.length]?.seq ?? null };
  }

  /** @returns `like`: nobody has that name */
  async #named(
    person: string | null,
    log: SearchedLog,
  ): Promise<{ readonly by: SpokenBy | null } | { readonly like: readonly Seq[] }> {
    if (person === null) return { by: null };
    const asked = normalWords(person);
    const isAsked = (name: string): boolean =>
      name === person || (asked !== "" && normalWords(name) === asked);
    // People's names are unlike an agent's.
    if (log.self?.names.some(isAsked) === true) return { by: { agent: log.self.agent } };
    const known = await this.#lines.names(log, log.signal);
    const names = known.map(({ name }) => name).filter(isAsked);
    return names.length > 0 ? { by: { names } } : { like: likeNames(person, known) };
  }

  /** Lines that fit, the best first. */
  async #ranked(
    { query, limit, page }: HistoryRequest,
    { askers = [], ...log }: SearchedLog,
    filter: LineFilter,
    explaining: Explaining,
  ): Promise<Ranked> {
    const { by } = filter;
    if (query === null) {
      const seqs = await this.#lines.newest(log, filter, limit * page + 1, log.signal);
      return { seqs, isWhole: true };
    }
    const { channel, from, to, signal } = log;
    const text = newestWords(query, MAX_QUERY);
    const naming = by !== null && "names" in by ? { naming: by.names } : {};
    const asked = { channel, text, from, to, limit, askers, signal, ...naming };
    if (filter !== ANY) {
      const deep = await this.#recall.rank({ ...asked, depth: DEPTH }, explaining);
      return { seqs: await this.#lines.among(log, filter, deep, signal), isWhole: true };
    }
    const first = await this.#recall.rank(asked, explaining);
    if (page === 1 || first.length < limit) return { seqs: first, isWhole: first.length < limit };
    const deep = await this.#recall.rank({ ...asked, depth: DEPTH }, explaining);
    return { seqs: [...new Set([...first, ...deep])], isWhole: true };
  }

  /** A page begins with the first result that had no room on the page before. */
  async #page(
    { limit, page, context }: HistoryRequest,
    log: SearchedLog,
    { seqs, isWhole }: Ranked,
  ): Promise<HistoryFound> {
    let at = 0;
    for (let number = 1; at < seqs.length; number++) {
      const results = seqs.slice(at, at + limit);
      const { lines, taken } = await this.#fitting(results, context, log);
      at += taken;
      if (number === page) return { kind: "found", lines, hasMore: at < seqs.length || !isWhole };
    }
    return NOTHING;
  }

  /** @returns `taken`: how many of the results had room, or are deleted by now */
  async #fitting(
    results: readonly Seq[],
    context: number,
    log: SearchedLog,
  ): Promise<{ readonly lines: readonly EntryReference[]; readonly taken: number }> {
    const { channel, signal } = log;
    const beside = await this.#lines.beside(log, results, context, signal);
    const all = new Set([...results, ...[...beside.values()].flat()]);
    const said = new Map((await this.#lines.at(channel, [...all], signal)).map((line) => [line.seq, line]));
    const linesAt = (seqs: readonly Seq[]): EntryReference[] => seqs.flatMap((seq) => said.get(seq) ?? []);
    const left = linesAt(results);
    const { lines, taken } = fittingResults(left, (seq) => linesAt(beside.get(seq) ?? []));
    const next = left[taken]?.seq;
    return { lines, taken: next === undefined ? results.length : results.indexOf(next) };
  }
}

interface Ranked {
  readonly seqs: readonly Seq[];
  /** No further line would fit. */
  readonly isWhole: boolean;
}

const NOTHING: HistoryFound = { kind: "found", lines: [], hasMore: false };

/** Null: the words name no time. Pure. */
function periodOf(
  when: string | null,
  timeZone: string,
  now: Date,
): Pick<LineFilter, "since" | "until"> | null {
  if (when === null) return ANY;
  const asked = askedPeriod(when, createTimeFormat(timeZone).day(now));
  if (asked === null) return null;
  const midnight = (day: string | null): Date | null =>
    day === null ? null : instantOf(`${day}T00:00`, timeZone);
  return {
    since: midnight(asked.from),
    until: midnight(asked.to === null ? null : dayBeside(asked.to, 1)),
  };
}

/** The newest messages under names that are like one, or have it as a word. Pure. */
function likeNames(person: string, known: readonly SpokenName[]): Seq[] {
  const asked = ` ${normalWords(person)} `;
  const nearest = nearestName(
    person,
    known.map(({ name }) => name),
  );
  return known
    .filter(({ name }) => name === nearest || ` ${normalWords(name)} `.includes(asked))
    .map(({ newest }) => newest)
    .slice(0, MOST_LIKE);
}

/** Some days of the past, both inclusive; null: without a limit. */
interface Period {
  readonly from: string | null;
  readonly to: string | null;
}

/** "The last 7 days": up to today. */
const LAST_DAYS = /^(?:the |in the |over the )?(?:last|past) (?<span>\S{1,12} (?:day|week|month|year)s?)$/iu;
const SINCE = /^(?:since|from|seit)\s/iu;
/** "From 3 to 7 May" has two ends. */
const RANGE = /(?<!\p{L})(?:to|until|till|bis)(?!\p{L})|[–/]/iu;
/** Of each wording of an open period: what stands there for its days, and which end is open. */
const OPEN: readonly (readonly [words: RegExp, instead: string, boundsOf: (days: DayRange) => Period])[] = [
  [LAST_DAYS, "$<span> ago", ({ from }) => ({ from, to: null })],
  [SINCE, "", ({ from }) => ({ from, to: null })],
  [/^after\s/iu, "", ({ to }) => ({ from: dayBeside(to, 1), to: null })],
  [/^(?:until|till|up to|bis)\s/iu, "", ({ to }) => ({ from: null, to })],
  [/^before\s/iu, "", ({ from }) => ({ from: null, to: dayBeside(from, -1) })],
];

/**
 * The days that a model asks for: `2026-05-07`, `2026-05-01/2026-05-07`, "last week", "since March", "before 3 May". Of a time
 * that may be past or to come it is the past one. Null: the text names no time. Pure.
 * @param today the ISO day on which it is asked
 */
export function askedPeriod(text: string, today: string): Period | null {
  const asked = text.trim();
  const open = OPEN.find(([words]) => words.test(asked));
  if (open === undefined || (open[0] === SINCE && RANGE.test(asked))) return daysOf(asked, today);
  const [words, instead, boundsOf] = open;
  const days = daysOf(asked.replace(words, instead), today);
  return days === null ? null : boundsOf(days);
}

/** From the first to the last day that a text names. */
function daysOf(text: string, today: string): DayRange | null {
  const exact = parseTime(text);
  if (exact !== null) return exact;
  const named = namedTimes(text, today);
  // "May": the name of a month alone may be another word.
  const times = named.length > 0 ? named : namedTimes(`in ${text}`, today);
  const begun = times.filter(({ from }) => from <= today);
  const [first, ...rest] = begun.length > 0 ? begun : times;
  if (first === undefined) return null;
  return rest.reduce(span, first);
}
