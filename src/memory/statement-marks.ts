import { EDGELESS_SCRIPTS } from "../text/scripts.ts";
import { pairsOf } from "../text/terms.ts";
import { normalForm } from "../text/text.ts";

/**
 * The parts by which two statements are compared, to find repetitions and newer statements about the same thing: marks are the
 * values, the other words are the subject. The comparison is SQL (`add_memory`), with these lists in columns. Pure.
 */
export interface StatementMarks {
  /**
   * `d:` dates, `n:` other numbers, `x:` how many negations, `@` names, weekdays and months; `^` words that may be names, as the
   * first of a sentence, and pairs of characters of scripts without spaces. Each once, in order.
   */
  readonly marks: readonly string[];
  /** Its other words, each once, in order; if empty, no other statement is about the same thing. */
  readonly about: readonly string[];
  /**
   * Its marks that have one value for most subjects: dates, numbers, negations, weekdays and months; and `c:` for a change.
   * Another name alone need not be a change: a speaker of German may speak French as well.
   */
  readonly slots: readonly string[];
}

/** Longest statement that is looked at, in UTF-16 units: more than the gates let pass. */
const MAX_LENGTH = 2000;

const DATE = /(?<!\d)\d{4}-\d\d-\d\d(?!\d)/gu;
const NUMBER = /(?<![\p{L}\p{N}])[+-]?\d+(?:[.,:]\d+)*/gu;
const WORD = /[\p{L}\p{N}\p{M}_'’-]+/gu;
const EDGELESS = new RegExp(`[${EDGELESS_SCRIPTS}]`, "u");
const EDGELESS_RUN = new RegExp(`[${EDGELESS_SCRIPTS}]+`, "gu");
const KATAKANA = /[\p{Script=Katakana}ー]{2,}/gu;
const SENTENCE_ENDS = new Set('.!?:;"“„(');

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));
const NEGATIONS = words(
  `not no never none nobody nothing neither nor without cannot cant dont doesnt didnt wont isnt arent wasnt werent hasnt havent
  shouldnt wouldnt couldnt nicht kein keine keinen keinem keiner nie niemals niemand ohne pas jamais aucun aucune sans nunca jamás
  ningún ninguna nadie sin non mai nessuno senza não`,
);
const UNSPACED_NEGATION = /ない|ません|なかった|ず(?=に)|不|没|沒|未|无|無|别/gu;
/** `may` and `march` are words as well. */
const DAYS = words(
  `monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays january
  february april june july august september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag
  lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo`,
);
const UNSPACED_DAYS = /[月火水木金土日]曜|(?:星期|周|週)[一二三四五六日天]/gu;
const CHANGE = "c:";
const NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");
/** Words that signal a change. They count only as that: a statement about now and one about before have the same subject. */
const CHANGES = words(
  "now nowadays anymore longer moved switched changed instead meanwhile jetzt nun inzwischen stattdessen umgezogen désormais maintenant ahora",
);
const UNSPACED_CHANGE = /今は|今では|もう|になった|に変え|变成|改成|现在|現在/u;
/** Words that signal an addition, and no replacement. */
const ADDS = /\b(?:also|too|as well|another|additionally|auch|außerdem|aussi|también|anche)\b|も|也/iu;

export function marksOf(statement: string): StatementMarks {
  const text = normalForm(normalForm(statement.slice(0, MAX_LENGTH), "NFKC"), "NFC");
  const marks = new Set<string>();
  const about = new Set<string>();
  const take = (from: string, pattern: RegExp, prefix: string): string => {
    for (const [found] of from.matchAll(pattern)) marks.add(prefix + found.toLowerCase());
    return from.replaceAll(pattern, " ");
  };
  const undated = take(text, DATE, "d:");
  const rest = take(undated, NUMBER, "n:");
  const plain = take(take(rest, UNSPACED_DAYS, "@"), KATAKANA, "@");
  let negations = rest.match(UNSPACED_NEGATION)?.length ?? 0;
  for (const { 0: word, index } of rest.matchAll(WORD)) {
    if (EDGELESS.test(word)) continue;
    const lower = word.toLowerCase().replaceAll(/['’]/gu, "");
    if (CHANGES.has(lower)) marks.add(CHANGE);
    else if (NEGATIONS.has(lower)) negations++;
    else sort(word, lower, isFirst(rest, index), marks, about);
  }
  for (const [run] of rest.matchAll(EDGELESS_RUN)) for (const pair of pairsOf(run)) marks.add(`^${pair}`);
  for (const [run] of plain.matchAll(EDGELESS_RUN)) for (const pair of pairsOf(run)) about.add(pair);
  if (negations > 0) marks.add(`x:${negations}`);
  const isChange = marks.delete(CHANGE) || UNSPACED_CHANGE.test(text);
  const slots = [...marks].filter((mark) => /^[dnx]:/.test(mark) || isDay(mark));
  return {
    marks: [...marks].toSorted(),
    about: ADDS.test(text) ? [] : [...about].toSorted(),
    slots: [...slots, ...(isChange ? [CHANGE] : [])].toSorted(),
  };
}

function isDay(mark: string): boolean {
  const name = mark.slice(1);
  return mark.startsWith("@") && (DAYS.has(name) || name.search(UNSPACED_DAYS) === 0);
}

/** A word is a mark, or part of the subject, or possibly either. */
function sort(
  word: string,
  plain: string,
  isFirstWord: boolean,
  marks: Set<string>,
  about: Set<string>,
): void {
  const number = NUMBER_WORDS.indexOf(plain);
  if (plain === "") return;
  if (number >= 0) marks.add(`n:${number}`);
  else if (DAYS.has(plain)) marks.add(`@${plain}`);
  else if (/[\d_]|\p{Ll}\p{Lu}/u.test(word)) marks.add(`@${plain}`);
  else if (!/^\p{Lu}/u.test(word)) about.add(withoutS(plain));
  else if (!isFirstWord) marks.add(`@${plain}`);
  else {
    marks.add(`^${plain}`);
    about.add(plain);
  }
}

/** "She eats" and "she does not eat" are about the same. */
function withoutS(word: string): string {
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

/** The first word of a sentence is written large, whatever it is. */
function isFirst(text: string, index: number): boolean {
  const before = text.slice(0, index);
  const { length } = before.trimEnd();
  return length === 0 || SENTENCE_ENDS.has(before.charAt(length - 1)) || before.includes("\n", length);
}
