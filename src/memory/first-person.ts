import { hasSelf } from "./told-as.ts";

/**
 * Whether a sentence that no person is known to have said speaks of its writer. Words of the first person in one language are days, units,
 * names and parts of addresses elsewhere: "Mon: 12 degrees", "3 mi", "eu-central-1". Pure.
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
