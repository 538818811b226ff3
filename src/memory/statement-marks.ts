import { EDGELESS, EDGELESS_SCRIPTS } from "../text/scripts.ts";
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
   * Its marks that have one value for most subjects: dates, numbers, negations, weekdays and months; `c:` for a change, and `e:` with the beginning of a
   * word of what has ended.
   * Another name alone need not be a change: a speaker of German may speak French as well.
   */
  readonly slots: readonly string[];
}

/** Longest statement that is looked at, in UTF-16 units: more than the gates let pass. */
const MAX_LENGTH = 2000;

const DATE = /(?<!\d)\d{4}-\d\d-\d\d(?!\d)/gu;
/** In a script without spaces a letter stands right before it. */
const NUMBER = new RegExp(`(?<!\\p{N}|(?![${EDGELESS_SCRIPTS}])\\p{L})[+-]?\\d+(?:[.,:]\\d+)*`, "gu");
const WORD = /[\p{L}\p{N}\p{M}_'’-]+/gu;
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
  montags dienstags mittwochs donnerstags freitags samstags sonntags
  lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo`,
);
const UNSPACED_DAYS = /[月火水木金土日]曜|(?:星期|周|週)[一二三四五六日天]/gu;
const CHANGE = "c:";
const ENDED = "e:";
const NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");
/** Words that signal a change. They count only as that: a statement about now and one about before have the same subject. */
const CHANGES = words(
  "now nowadays anymore longer moved switched changed instead meanwhile jetzt nun inzwischen stattdessen umgezogen désormais maintenant ahora",
);
const UNSPACED_CHANGE = /今は|今では|もう|になった|に変え|变成|改成|现在|現在/u;
/** Words that signal an addition, and no replacement. */
const ADDS = /\b(?:also|too|as well|another|additionally|auch|außerdem|aussi|también|anche)\b|も(?!う)|也/iu;

/** Words that signal that something has ended, or was moved. */
const ENDING =
  /(?<!\p{L})(?:any ?more|no longer|stopp?(?:s|ed|ing)?|quits?|(?:has|have|had) left|leaves|gave|given|gives (?:up|away)|sold|sells|cancell?ed|postponed|moved|ended|dropped|closed|retired|resigned|broke up|instead of|nicht mehr|kein\p{L}* (?:\p{L}+ )?mehr|aufgehört|verlassen|abgegeben|aufgegeben|verkauft|verschoben|ausgetreten|gekündigt|beendet|abgesagt|gezogen|umgezogen|statt|ne \p{L}+ plus|quitté|vendu|arrêté|reporté|annulé|déménagé|ya no|dejado|vendido|aplazado|cancelado|mudado)(?!\p{L})|もう.{0,20}(?:ない|なく|ません)|やめ|辞め|退[団会社職]|手放|売っ|延期|引っ越|移った|移って|中止|解散|不再|停止|离开|卖掉|推迟|取消|搬到/iu;
/** Words that are of too many statements to say what has ended. */
const COMMON = words(
  `the and for has have had his her its from with into been was were are not any more longer that this she they them him out away off
  now will do does did dont doesnt didnt anymore still own goes den die das der dem des ein eine einen einem einer sein seine seinen ihr ihre ihren und mit von nach aus
  auf bei hat ist sich mehr nicht kein keine keinen jetzt les des une dans est pas plus pour avec los las una del que con por`,
);
/** A stem's letters: "smoking" ends "smokes". */
const STEM = { least: 4, ending: 3 };
const HAS_HAN = /\p{Script=Han}/u;

/** Whether a statement says that something has ended, or was moved. */
export function tellsOfEnd(statement: string): boolean {
  return ENDING.test(statement);
}

/** Of a statement that something has ended, what may have: the beginnings of its words, and pairs of characters. */
function endedThings(text: string): string[] {
  if (!tellsOfEnd(text)) return [];
  const stems = [...text.matchAll(WORD)].flatMap(([word]) => {
    const plain = word.toLowerCase().replaceAll(/['’]/gu, "");
    if (EDGELESS.test(word) || plain.length < 3 || COMMON.has(plain)) return [];
    return [plain.slice(0, Math.max(STEM.least, plain.length - STEM.ending))];
  });
  const names = text.match(KATAKANA) ?? [];
  const pairs = [...text.matchAll(EDGELESS_RUN)]
    .flatMap(([run]) => pairsOf(run))
    .filter((pair) => HAS_HAN.test(pair));
  return [...new Set([...stems, ...names, ...pairs])].map((thing) => `${ENDED}${thing}`);
}

/** What stands before what counts here: "prefers tea to coffee". */
const COMPARED =
  /(?<!\p{L})(?:prefer\p{L}*|rather|more|better|lieber|mehr|besser|bevorzug\p{L}*|préfèr\p{L}*|préfér\p{L}*|plus|mieux|prefier\p{L}*|prefer\p{L}*|más|mejor|preferisc\p{L}*|più|meglio|mais|melhor|предпоч\p{L}*|больше|лучше)(?!\p{L})/iu;
const BETWEEN =
  /(?<before>[\p{L}\p{N}\p{M}_'-]{2,60}),?\s+(?:to|than|over|before|als|vor|que|a|di|che|do que|чем|перед)\s+(?:(?:the|a|an|der|die|das|den|dem|le|la|les|el|los|las|il|lo|o|a)\s+)?(?<after>[\p{L}\p{N}\p{M}_'-]{2,60})/giu;

/** People have one of these. */
const FAVOURITE =
  /(?<!\p{L})(?:favou?rite|lieblings?|préféré|favorit|(?:likes?|loves?) (?:[^.]{1,40} )?(?:best|most)(?!\p{L})|am liebsten)|好きな|一番|お気に入り|最喜欢/iu;

/** Which word is compared with which: the other way round it is another statement. */
function comparisons(text: string): string[] {
  if (!COMPARED.test(text)) return [];
  return [...text.matchAll(BETWEEN)].map(
    ({ groups: { before = "", after = "" } = {} }) =>
      `@${withoutS(before.toLowerCase())}>${withoutS(after.toLowerCase())}`,
  );
}

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
  for (const comparison of comparisons(text)) marks.add(comparison);
  if (negations > 0) marks.add(`x:${negations}`);
  const isChange =
    marks.delete(CHANGE) ||
    UNSPACED_CHANGE.test(text) ||
    FAVOURITE.test(text) ||
    [...marks].some((mark) => mark.includes(">"));
  const slots = [...marks].filter((mark) => /^[dnx]:/.test(mark) || isDay(mark));
  return {
    marks: [...marks].toSorted(),
    about: ADDS.test(text) ? [] : [...about].toSorted(),
    slots: [...slots, ...(isChange ? [CHANGE] : []), ...endedThings(text)].toSorted(),
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
