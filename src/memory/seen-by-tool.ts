import { argumentValues, type Entry, type ToolResultEntry } from "../core/entry.ts";
import { containsQuote, normalWords } from "../text/normal-text.ts";
import { tellingTerms } from "../text/terms.ts";
import { headAndTail } from "../text/text.ts";
import { plantsMemory, tellsReader } from "./planted-instructions.ts";
import { isCovered, namesPerson, type NearLine, unfoundPart } from "./statement-support.ts";
import { type Fault, isTurned, type LineContext, peopleOf, type SupportedItem } from "./support-gate.ts";
import { hasSelf, isAttributed, noFact, sentencesAround } from "./told-as.ts";

/**
 * Whether a statement says what a tool has returned: a page, a file, a program. No person has said it, so only the result
 * can support it, and a possible order is refused. Pure.
 */

/** Longest result of a tool that a summariser is shown, in UTF-16 units. */
export const SHOWN_RESULT = 1200;

/** Signs around the values of JSON and of tables: each value is a sentence of its own. */
const AROUND_VALUES = /["“”„«»「」『』{}[\]|]+/gu;

/** A result as its summariser knows it. */
export interface ShownResult {
  readonly entry: ToolResultEntry;
  /** What is shown of it: all, or its beginning and its end. */
  readonly parts: readonly string[];
  /** The values of the call's arguments. A tool may repeat them: such a result proves nothing, since the model wrote them. */
  readonly asked: string;
}

/** @returns null: its call is not among these entries, so that nobody knows whether it repeats the call */
export function shownResult(entry: ToolResultEntry, calls: Iterable<Entry>): ShownResult | null {
  const { text } = entry;
  const asked = argumentsOf(entry, calls);
  if (asked === null) return null;
  const { head, tail } = headAndTail(text, SHOWN_RESULT);
  const parts = text.length <= SHOWN_RESULT ? [text] : [head, tail];
  return { entry, parts, asked };
}

/** The values of the arguments of its call; null: the call is not among the entries. */
function argumentsOf({ turnId, callId }: ToolResultEntry, entries: Iterable<Entry>): string | null {
  for (const entry of entries) {
    if (entry.kind !== "tool_call" || entry.turnId !== turnId) continue;
    const call = entry.calls.find(({ id }) => id === callId);
    if (call !== undefined) return argumentValues(call.arguments);
  }
  return null;
}

/** Whether a quote stands in what is shown, and not in what the tool was asked. @param quote its normal words */
export function isShown(quote: string, { parts, asked }: ShownResult): boolean {
  return (
    !containsQuote(normalWords(asked), quote) && parts.some((part) => containsQuote(normalWords(part), quote))
  );
}

/** What is wrong with a statement; null: nothing. @param shown its results, each with the quote */
export function seenFault(
  item: SupportedItem,
  shown: readonly ShownResult[],
  lines: LineContext,
): Fault | null {
  const { statement, quote } = item;
  const near = shown.flatMap(({ entry, parts }) =>
    parts.map((text): NearLine => ({ text, author: "", day: lines.dayOf(entry.at) })),
  );
  const values = shown.flatMap(({ parts }) => parts.map((part) => part.replaceAll(AROUND_VALUES, "\n")));
  const around = values
    .filter((part) => containsQuote(normalWords(part), normalWords(quote)))
    .flatMap((part) => sentencesAround(quote, part));
  if (near.some(({ text }) => plantsMemory(text)) || [statement, quote, ...around].some(tellsReader))
    return {
      reason: "instruction",
      why: "the result tells its reader what to do or to remember: it is no proof",
    };
  const people = peopleOf(lines);
  const unfound = unfoundPart(item, near, people);
  if (unfound !== null)
    return {
      reason: "unsaid",
      why: `"${unfound.slice(0, 60)}" does not stand in the cited result: state only what it says`,
    };
  if (!isCovered(statement, near, near))
    return { reason: "unsaid", why: "the cited result hardly has a word of the statement: use its words" };
  const asked = new Set(shown.flatMap((one) => [...tellingTerms(one.asked)]));
  if (tellingTerms(statement).isSubsetOf(asked))
    return { reason: "speaker", why: "it says nothing that was not asked in the call: that proves nothing" };
  if (isOfSpeaker(statement, around, people))
    return { reason: "speaker", why: "the result repeats what somebody says: only who said it proves that" };
  return formFault(item, around);
}

/** Whether a statement gives words to a person, or the result has the words of one. */
function isOfSpeaker(statement: string, around: readonly string[], people: ReadonlySet<string>): boolean {
  const isOfAnyone = [...people].some((name) => namesPerson(statement, name));
  return (isOfAnyone && isAttributed(statement)) || around.some(speaksOfSelf);
}

function formFault({ statement, quote }: SupportedItem, around: readonly string[]): Fault | null {
  const line = around.join("\n");
  const fact = noFact({ statement, quote, line, after: [], isAgreed: false, isOfSpeaker: false });
  if (fact !== null) return { reason: "no_fact", why: `the quote is ${fact}, and no fact` };
  return isTurned(statement, quote, line)
    ? { reason: "negation", why: "the statement denies what the quote affirms, or affirms what it denies" }
    : null;
}

/*
 * Whether a sentence that no person is known to have said speaks of its writer. Words of the first person in one language are days, units,
 * names and parts of addresses elsewhere: "Mon: 12 degrees", "3 mi", "eu-central-1".
 */

/** Pronouns that are ordinary words elsewhere count beside a word that only their own language has. */
const IN_LANGUAGE: readonly (readonly [pronouns: string, beside: string])[] = [
  [
    "mon|ma|mes",
    "est|sont|et|le|les|des|du|une|dans|pour|sur|avec|chez|au|aux|ai|ne|pas|habite|va|vit|travaille|[ldcnsq]'\\p{L}+",
  ],
  ["mi|mis|yo", "el|los|las|del|es|está|están|y|con|por|para|una|se|vive|vivo|trabaja|tengo|soy|que|muy"],
  ["mi|io|mia|mio|sono", "il|lo|gli|di|del|della|che|è|nel|nella|ho|non|alla|abito|vivo|lavoro|molto|una"],
  ["eu|meu|minha", "os|um|uma|em|na|da|é|não|está|com|para|que|moro|trabalho|tenho|sou|fica"],
  ["mir", "der|das|ist|und|zu|mit|von|ein|eine|nicht|es|gehört|geht|ich|dass|gefällt|bei"],
];
const words = (alternatives: string, flags: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{M}\\p{N}'])(?:${alternatives})(?![\\p{L}\\p{M}\\p{N}])`, flags);
const LANGUAGES = IN_LANGUAGE.map(([pronouns, beside]) => ({ pronouns, beside: words(beside, "iu") }));
const FOREIGN = words(
  [...new Set(LANGUAGES.flatMap(({ pronouns }) => pronouns.split("|")))].join("|"),
  "giu",
);

/** Addresses, paths, ranges and abbreviations: "firma.eu", "I/O", "Mon-Fri". A full stop without a space may also end a sentence. */
const JOINED = /[\p{L}\p{N}](?:[-–/@\\]|\.(?=[\p{Ll}\p{N}]))[\p{L}\p{N}]|^(?:~?\/|\\\\)/u;
/** A French verb with its subject: "puis-je". */
const INVERTED = /-(?:je|moi)\P{L}*$/iu;
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u;
/** Elsewhere than at the beginning of a sentence it is a name or a day. */
const NAME = /^\P{L}*(?:Mon|Ma|Mi|Mis|Mir|Mio|Mia|Io|Eu|Yo)\P{L}*$/u;
const ABBREVIATION = /(?<![\p{L}\p{N}'’])\p{Lu}{2,}(?![\p{L}'’])/gu;
/** "Part I", "(i)". */
const COUNTED =
  /(?<![\p{L}\p{N}])(?:part|type|phase|class|level|war|volume|vol\.?|book|section|stage|grade|title|article|chapter|teil|band|partie|parte) I(?![\p{L}\p{N}'’])|\(i\)|^i\)/giu;
const PIT =
  /(?<![\p{L}\p{N}])(?:the|a|this|that|each|every|gold|coal|salt|copper|iron) mine(?![\p{L}\p{N}])/giu;
const MILES = /\d\s?mi(?![\p{L}\p{N}])|(?<![\p{L}\p{N}])mi\s?(?=\d)/giu;

/** Whether a sentence has "I", "my" or "me" of its writer, in the most common languages. */
export function speaksOfSelf(sentence: string): boolean {
  const left = sentence
    .trim()
    .split(/\s+/)
    .filter((word, index) => !isJoined(word) && !(index > 0 && NAME.test(word)))
    .join(" ");
  // All of a shouted sentence is in capitals.
  const small = /\p{Ll}/u.test(sentence) ? left.replaceAll(ABBREVIATION, " ") : left;
  const own = small.replaceAll(COUNTED, " ").replaceAll(PIT, " ").replaceAll(MILES, " ");
  const languages = LANGUAGES.filter(({ beside }) => beside.test(own));
  const spoken = new Set(languages.flatMap(({ pronouns }) => pronouns.split("|")));
  return hasSelf(own.replaceAll(FOREIGN, (word) => (spoken.has(word.toLowerCase()) ? word : " ")));
}

function isJoined(word: string): boolean {
  return JOINED.test(word) && !INVERTED.test(word) && !WITHOUT_SPACES.test(word);
}
