import type { Entry } from "../core/entry.ts";
import { EDGELESS_SCRIPTS } from "../text/scripts.ts";
import { displayName } from "../text/text.ts";
import { normalWords } from "../text/normal-text.ts";
import type { Source } from "./line-terms.ts";
import type { MemoryRejection } from "../core/memory.ts";
import { isOfRelative } from "./relatives.ts";
import {
  EXACT_LINES,
  isCovered,
  namesPerson,
  nearLine,
  type NearLine,
  unfoundPart,
  WORD_LINES,
} from "./statement-support.ts";
import {
  clausesOf,
  closestClauses,
  comparesTwo,
  denies,
  hasSelf,
  isAgreement,
  isAttributed,
  isOfOthersSelf,
  isOfSelf,
  isOfUs,
  isUndone,
  noFact,
  opposes,
  inSmallLetters,
  polarityOf,
  sentencesAround,
  tellsOfListener,
  tellsOfPerson,
} from "./told-as.ts";

/** Whether a statement says what its quote says, as its speaker meant it. Pure. */

const EDGELESS = new RegExp(`^[${EDGELESS_SCRIPTS}]`, "u");
/** Lines after a proposal that may agree to it. */
const AGREEING_LINES = 5;
/** Lines after a joke in which its speaker may call it one. */
const JOKING_LINES = 2;
/** Words that a clause shares with another that says the same. */
const SAME_WORDS = 2;
/** In a clause of as many words one is enough. */
const SHORT_CLAUSE = 4;

/** Why something is not kept. */
export interface Fault {
  readonly reason: MemoryRejection;
  readonly why: string;
}

export interface SupportedItem {
  readonly type: string;
  readonly subject: string;
  readonly statement: string;
  readonly quote: string;
}

export interface Lines {
  /** By number. */
  readonly sources: ReadonlyMap<number, Entry>;
  readonly agentName: string;
  readonly dayOf: (at: Date) => string;
}

/** What is wrong with a statement; null: nothing. @param cited its lines, by number */
export function supportFault(
  item: SupportedItem,
  cited: ReadonlyMap<number, Source>,
  lines: Lines,
): Fault | null {
  const { statement } = item;
  const unfound = unfoundPart(item, around(cited, lines, EXACT_LINES), peopleOf(lines));
  if (unfound !== null)
    return {
      reason: "unsaid",
      why: `"${unfound.slice(0, 60)}" stands neither in the cited lines nor near them: state only what they say`,
    };
  // What a word means is told in other words.
  if (
    item.type !== "term" &&
    !isCovered(statement, around(cited, lines, WORD_LINES), around(cited, lines, 0))
  )
    return {
      reason: "unsaid",
      why: "the cited lines hardly have a word of the statement: cite the line that says it, and use its words",
    };
  return statedFault(item, cited, lines);
}

/** The same of its quote alone: wherever other lines are not known. */
export function statedFault(
  item: SupportedItem,
  cited: ReadonlyMap<number, Source>,
  lines: Lines,
): Fault | null {
  const faults = [...cited].map(([number, entry]) => quoteFault(item, number, entry, lines));
  return faults.some((fault) => fault === null) ? null : (faults[0] ?? null);
}

function quoteFault(item: SupportedItem, number: number, entry: Source, lines: Lines): Fault | null {
  const { type, subject, statement, quote } = item;
  const next = [...Array(AGREEING_LINES).keys()].map((by) => lines.sources.get(number + by + 1));
  const fact = noFact({
    statement,
    quote,
    line: entry.text,
    isOfSpeaker:
      entry.kind === "user" &&
      namesPerson(statement.split(/[\s,、はがも]+/, 3).join(" "), displayName(entry.author.name)),
    after: next
      .slice(0, JOKING_LINES)
      .filter((one) => isSameSpeaker(one, entry))
      .map((one) => one?.text ?? ""),
    isAgreed:
      type === "decision" &&
      next.some((one) => one?.kind === "user" && !isSameSpeaker(one, entry) && isAgreement(one.text)),
  });
  // The agent's own promises are worded as it words them.
  if (entry.kind === "assistant") return null;
  if (fact !== null) return { reason: "no_fact", why: `the quote is ${fact}, and no fact` };
  const isOfAnyone = [...peopleOf(lines)].some((name) => namesPerson(`${subject} ${statement}`, name));
  if (
    (isOfAnyone ? hasSelf(quote) : isOfSelf(quote)) &&
    !isAttributed(statement) &&
    !namesOf(entry, lines).some((name) => namesPerson(`${subject} ${statement}`, name))
  )
    return {
      reason: "speaker",
      why: `the quote is of line ${number}'s speaker: say so by name, or cite the line of whom it is about`,
    };
  if (
    isOfAnother(item, entry, lines) ||
    (isPlainlyOf(item, entry, lines) && isOfRelative(statement, quote, entry.text))
  )
    return {
      reason: "speaker",
      why: `the quote is not of the one whom the statement is about: cite the line of whom it is about`,
    };
  return isTurned(statement, quote, entry.text)
    ? { reason: "negation", why: "the statement denies what the quote affirms, or affirms what it denies" }
    : null;
}

/** Whether a statement begins with its speaker's name, has no other, and is not of a thing of theirs: "Ann's rent". */
function isPlainlyOf({ statement }: SupportedItem, entry: Source, lines: Lines): boolean {
  if (entry.kind !== "user") return false;
  const names = namesOf(entry, lines).flatMap((name) => normalWords(name).split(" "));
  const words = inSmallLetters(statement);
  const name = names.find((one) => one !== "" && words.startsWith(one));
  if (name === undefined || /^(?:'|\p{Script=Latin}|の)/u.test(words.slice(name.length))) return false;
  return ![...peopleOf(lines)].some((one) => !names.includes(one) && namesPerson(statement, one));
}

/** Whether a statement begins with another person's name than the speaker's, and the quoted message names no other person. */
function isOfAnother({ statement, quote }: SupportedItem, entry: Source, lines: Lines): boolean {
  if (entry.kind !== "user") return false;
  const words = normalWords(statement);
  const people = peopleOf(lines);
  // Scripts without spaces have no first word.
  const first =
    [...people].find((name) => EDGELESS.test(name) && words.startsWith(name)) ?? words.split(" ")[0] ?? "";
  const names = namesOf(entry, lines);
  if (!people.has(first) || names.some((name) => namesPerson(first, name))) return false;
  if (isOfUs(quote) && names.some((name) => namesPerson(statement, name))) return false;
  if (tellsOfPerson(entry.text, first)) return false;
  return !(tellsOfListener(quote) || (isOfOthersSelf(quote) && isNamedBefore(first, entry, lines)));
}

/** The names under which the speaker of an entry speaks in the lines. */
function namesOf(entry: Extract<Source, { kind: "user" }>, { sources }: Lines): string[] {
  const own = [...sources.values()].filter((one) => isSameSpeaker(one, entry));
  return [
    ...new Set([entry, ...own].map((one) => (one.kind === "user" ? displayName(one.author.name) : ""))),
  ];
}

/** "He" and "she" are of somebody whom the lines before name. */
function isNamedBefore(name: string, { seq }: Source, { sources }: Lines): boolean {
  const before = [...sources.values()].filter((one) => one.seq < seq).slice(-EXACT_LINES);
  return before.some(({ text }) => tellsOfPerson(text, name));
}

function isSameSpeaker(one: Entry | undefined, other: Source): boolean {
  return one?.kind === "user" && other.kind === "user" && one.author.id === other.author.id;
}

/** Whether one of them is negated and the other is not: by the clauses that say the same. */
export function isTurned(statement: string, quote: string, line: string): boolean {
  const clauses = clausesOf(inSmallLetters(statement));
  const quoted = sentencesAround(quote, line).flatMap((sentence) => clausesOf(inSmallLetters(sentence)));
  const all = clausesOf(inSmallLetters(line));
  return clauses.some((clause) => {
    const polarity = polarityOf(clause);
    const closest = closestClauses(clause, quoted);
    if (polarity === "denied") {
      const near = closest.shared > 0 ? closest : closestClauses(clause, all);
      return !(near.shared > 0 ? near.clauses : all).some((one) => denies(one, clause));
    }
    if (polarity === "averse" || comparesTwo(clause)) return false;
    if (isUndone(clause, quoted)) return true;
    const isShort = clause.split(" ").length <= SHORT_CLAUSE && closest.shared > 0;
    const isNear = isShort || closest.shared >= SAME_WORDS;
    return closest.clauses.every((one) => {
      if (polarityOf(one) === "denied") return isNear;
      const isAlike = isNear || (closest.shared > 0 && one.split(" ").length <= SHORT_CLAUSE);
      return isAlike && opposes(one, clause);
    });
  });
}

function around(
  cited: ReadonlyMap<number, Source>,
  { sources, agentName, dayOf }: Lines,
  within: number,
): NearLine[] {
  const numbers = new Set(
    [...cited.keys()].flatMap((number) =>
      [...Array(2 * within + 1).keys()].map((by) => number - within + by),
    ),
  );
  return [...numbers].flatMap((number) => {
    const entry = sources.get(number);
    const line = entry === undefined ? null : nearLine(entry, agentName, dayOf);
    return line === null ? [] : [line];
  });
}

const PEOPLE = new WeakMap<ReadonlyMap<number, Entry>, ReadonlySet<string>>();

/** The names of those who speak in the lines, and their parts. */
export function peopleOf({ sources }: Lines): ReadonlySet<string> {
  const known = PEOPLE.get(sources);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const entry of sources.values())
    if (entry.kind === "user")
      for (const part of normalWords(entry.author.name).split(" ")) if (part.length > 1) names.add(part);
  PEOPLE.set(sources, names);
  return names;
}
