import type { Entry } from "../core/entry.ts";
import type { DayRange } from "../core/memory.ts";
import { EDGELESS } from "../text/scripts.ts";
import { terms } from "../text/terms.ts";
import { normalForm, plainDigits } from "../text/text.ts";
import { withoutUnseen } from "../text/unseen.ts";
import { normalWords } from "../text/normal-text.ts";
import { isNamed, namedTimes } from "./named-times.ts";
import { isOne, numbersIn } from "../text/number-words.ts";
import { timesOfDay, unfoundAmount } from "./measures.ts";

/**
 * Whether what a statement says stands in the lines that it cites, or near them: each name, number, date and path, and enough of its other
 * words. Pure.
 */

/** Lines around a cited one in which names and numbers may stand, and other words. */
export const EXACT_LINES = 5;
export const WORD_LINES = 2;
/** Share of a statement's words that stand in the lines. */
const WORDS_SHARE = 0.3;

/** The same where the cited line has none of them itself. */
const WORDS_SHARE_BESIDE = 0.7;
/** A statement with fewer words may have none in the cited line. */
const FEW_WORDS = 3;

export interface NearLine {
  readonly text: string;
  /** "": it has no author with a name. */
  readonly author: string;
  /** ISO day. */
  readonly day: string;
}

const ISO = /(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)/g;
const LINK = /\bhttps?:\/\/[^\s"'<>)\]]+/giu;
const PATH =
  /(?<![\w/])(?:[A-Za-z]:\\[^\s"',;)]{1,200}|(?:~|\.{1,2})?\/[\w.@+-]{2,60}(?:\/[\w.@+-]{1,60}){0,12}|[\w@+-]{1,60}(?:\/[\w.@+-]{1,60}){2,12}|[\w-]{1,60}\.(?:md|txt|json|ya?ml|toml|ts|js|py|sh|csv|pdf|png|jpe?g|docx?|xlsx?|conf|log|sql|zip))(?![\w])/gu;

/** The part of a statement that stands nowhere near; null: each does. */
export function unfoundPart(
  {
    type,
    statement,
    subject,
  }: { readonly type: string; readonly statement: string; readonly subject: string },
  near: readonly NearLine[],
  people: ReadonlySet<string>,
): string | null {
  const text = plain(statement);
  const told = near.map(({ text: line, author }) => plain(`${author}\n${line}`));
  const all = told.join("\n");
  for (const [part] of [...text.matchAll(LINK), ...text.matchAll(PATH)])
    if (!all.toLowerCase().includes(part.replace(/[.,:;!?]$/, "").toLowerCase())) return part;
  const rest = text.replaceAll(LINK, " ").replaceAll(PATH, " ");
  const times = near.flatMap(({ text: line, day }) => [{ from: day, to: day }, ...namedTimes(line, day)]);
  const date = unfoundDate(rest, times);
  if (date !== null) return date;
  const number = unfoundNumber(rest.replaceAll(ISO, " "), told, times);
  if (number !== null) return number;
  return unfoundName(rest, told, people, subject) ?? (type === "term" ? null : unfoundTail(rest, told));
}

function unfoundNumber(text: string, told: readonly string[], times: readonly DayRange[]): string | null {
  const { unfound, rest } = timesOfDay(text, told);
  if (unfound !== null) return unfound;
  const known = new Set([...told.flatMap((line) => [...numbersIn(line)]), ...times.flatMap(numbersOf)]);
  if (countsOne(rest, told)) known.add("1");
  for (const number of numbersIn(rest, true)) if (!known.has(number)) return number;
  return unfoundAmount(rest, told);
}

/** Whether what a text has one of is told with a word for one: "1 dog" of "a dog". */
function countsOne(text: string, told: readonly string[]): boolean {
  const counted = [...text.matchAll(/(?<![\d.,:])1 (\p{L}+)/gu)].map(([, word = ""]) => word.toLowerCase());
  if (counted.length === 0) return false;
  const words = told.map((line) => normalWords(line).split(" "));
  return counted.every((word) =>
    words.some((line) => line.some((one, place) => one === word && isOne(line[place - 1] ?? ""))),
  );
}

/** A statement that ends with so many words that no line has, after words that the lines have, adds something of its own. */
const TAIL_WORDS = 3;

function unfoundTail(text: string, told: readonly string[]): string | null {
  const said = new Set(told.flatMap((line) => terms(line)));
  const words = terms(text);
  const last = words.findLastIndex((word) => isFound(word, said));
  const tail = words.slice(last + 1).filter((word) => !EDGELESS.test(word) && !/^\d/.test(word));
  return last >= 0 && tail.length >= TAIL_WORDS ? tail.join(" ") : null;
}

function plain(text: string): string {
  return plainDigits(withoutUnseen(normalForm(text, "NFKC"))).replaceAll(/[’‘]/g, "'");
}

function unfoundDate(text: string, times: readonly DayRange[]): string | null {
  for (const [, day = ""] of text.matchAll(ISO)) if (!isNamed({ from: day, to: day }, times)) return day;
  return null;
}

const DAY_MS = 86_400_000;
/** The years, months and days of a time. */
function numbersOf({ from, to }: DayRange): string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  const days = (last - first) / DAY_MS;
  const found = [from, to].flatMap((day) => day.split("-").map((part) => String(Number(part))));
  if (days > 31 || Number.isNaN(days)) return found;
  for (let day = first - DAY_MS; day <= last + DAY_MS; day += DAY_MS)
    found.push(
      ...new Date(day)
        .toISOString()
        .slice(0, 10)
        .split("-")
        .map((part) => String(Number(part))),
    );
  return found;
}

const WORD = /(?<!\d)[\p{L}\p{M}][\p{L}\p{M}\p{N}'-]*/gu;
const GERMAN =
  /(?<!\p{L})(?:der|die|das|und|ist|nicht|ein|eine|einen|hat|wird|mit|für|auf|zu|im|am|vom|zum|zur|seit|von|bei|nach)(?!\p{L})/u;
/** Before a German noun that is no name. */
const BEFORE_NOUN = /(?:e|en|er|es|em|r|m|n|das|des|im|am|vom|zum|zur|ins|ans|beim)$/iu;
const NO_NAMES = new Set(
  `i i'm i'll i'd i've monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
  september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli
  oktober dezember sie ihr ihre ihren ihm mr mrs ms dr the ok`.split(/\s+/),
);

/** A name that no line has. @param people in small letters: names of those who are known to speak */
function unfoundName(
  text: string,
  told: readonly string[],
  people: ReadonlySet<string>,
  subject: string,
): string | null {
  // "Marvin lives in Oslo", of Marvin: its first word is a name as well.
  const lead = /^\p{Lu}/u.test(subject) ? (normalWords(subject).split(" ")[0] ?? "") : "";
  const words = new Set(told.flatMap((line) => normalWords(line).split(" ")));
  const joined = told.join("\n").toLowerCase();
  const isGerman = GERMAN.test(text);
  let before = "";
  let end = 0;
  for (const { 0: raw, index } of text.matchAll(WORD)) {
    const between = text.slice(end, index);
    const isFirst = end === 0 || /[.!?:"“„(]\s*$/.test(between);
    const previous = before;
    before = raw;
    end = index + raw.length;
    if (EDGELESS.test(raw)) continue;
    const bare = raw.replace(/(?:'s|s'|')$/u, "");
    const lower = bare.toLowerCase();
    if (people.has(lower) ? isSaid(lower, words) : !/^\p{Lu}/u.test(bare)) continue;
    if (people.has(lower)) return raw;
    if ((isFirst && lower !== lead) || NO_NAMES.has(lower) || isSaid(lower, words)) continue;
    const mayBeNoun = BEFORE_NOUN.test(previous) && !/(?:in|von|nach|bei|an|und|oder|sich)$/iu.test(previous);
    if (isGerman && (mayBeNoun || /\d\s*$/u.test(between))) continue;
    return raw;
  }
  return unfoundUnspacedName(text, joined, people);
}

/** Foreign names, and names before a word that only names have. */
const UNSPACED_NAME =
  /[\p{Script=Katakana}ー]{2,}|\p{Script=Han}{2,4}(?=さん|くん|ちゃん|氏|市|県|駅|大学|先生|へ)|\p{Script=Han}{2,3}(?=で|に(?:住|引|行|い|着|移))/gu;
const NO_UNSPACED_NAME =
  /[年月日時分週今毎朝昼夜末初前後回]|自分|一緒|家族|電話|以前|最近|実家|仕事|会社|学校|現在|将来|大学/u;

function unfoundUnspacedName(text: string, joined: string, people: ReadonlySet<string>): string | null {
  for (const [name] of text.matchAll(UNSPACED_NAME))
    if (!NO_UNSPACED_NAME.test(name) && !joined.includes(name)) return name;
  for (const name of people)
    if (EDGELESS.test(name) && text.toLowerCase().includes(name) && !joined.includes(name)) return name;
  return null;
}

/** Whether a word stands among these, in some form. */
function isSaid(word: string, words: ReadonlySet<string>): boolean {
  if (words.has(word)) return true;
  if (word.includes("-") || word.includes("'"))
    return word.split(/[-']/).every((part) => part.length < 2 || isSaid(part, words));
  for (const other of words) if (isSameWord(word, other)) return true;
  return false;
}

function isSameWord(one: string, other: string): boolean {
  if (one === other) return true;
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (short.length < 4) return short.length >= 3 && long.startsWith(short) && long.length - short.length <= 2;
  if (long.startsWith(short)) return true;
  let same = 0;
  while (same < short.length && short.charAt(same) === long.charAt(same)) same++;
  return same >= Math.max(4, long.length - 3);
}

/** Whether enough of a statement's words stand in the lines. */
export function isCovered(statement: string, near: readonly NearLine[], cited: readonly NearLine[]): boolean {
  const names = new Set(near.flatMap(({ author }) => terms(author)));
  const words = contentOf(statement).filter((term) => !names.has(term) && !/^\d/.test(term));
  if (words.length === 0) return true;
  const said = new Set(near.flatMap(({ text }) => terms(text)));
  const found = words.filter((word) => isFound(word, said));
  const own = new Set(cited.flatMap(({ text }) => terms(text)));
  const isOwn = found.some((word) => isFound(word, own));
  const share = isOwn || words.length < FEW_WORDS ? WORDS_SHARE : WORDS_SHARE_BESIDE;
  return found.length >= words.length * share;
}

function contentOf(text: string): string[] {
  return [...new Set(terms(text.replaceAll(ISO, " ")))].filter(
    (term) => !/^\p{Script=Hiragana}+$/u.test(term),
  );
}

/** Whether a term stands among these; in a script with spaces in some form. */
function isFound(term: string, said: ReadonlySet<string>): boolean {
  return EDGELESS.test(term) ? said.has(term) : isSaid(term, said);
}

/** The share of the words of one text that another has. */
export function sharedWords(text: string, statement: string): number {
  const said = new Set(terms(statement));
  return [...new Set(terms(text))].filter((term) => isFound(term, said)).length;
}

/** Whether a text names a person, by a part of the name at least. */
export function namesPerson(text: string, name: string): boolean {
  const words = new Set(normalWords(text).split(" "));
  const joined = normalWords(text).replaceAll(" ", "");
  return normalWords(name)
    .split(" ")
    .some((part) =>
      EDGELESS.test(part)
        ? part !== "" && joined.includes(part)
        : part.length > 0 &&
          (words.has(part) ||
            (part.length >= 3 &&
              (isSaid(part, words) || [...words].some((word) => word.length >= 3 && part.startsWith(word))))),
    );
}

/** The entry as a line near a statement; null: it has no words. */
export function nearLine(entry: Entry, agentName: string, dayOf: (at: Date) => string): NearLine | null {
  if (entry.deleted || entry.text === "") return null;
  const author = entry.kind === "user" ? entry.author.name : entry.kind === "assistant" ? agentName : "";
  return { text: entry.text, author, day: dayOf(entry.at) };
}
