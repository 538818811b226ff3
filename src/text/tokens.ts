import { sliceWhole } from "./text.ts";

/**
 * Token estimates that err on the safe side: after an under-estimate, the request no longer fits the window. Characters
 * / 4 under-estimates by up to three times (CJK, emoji, base64).
 */

/**
 * Tokens of o200k, fitted by a linear program to texts of 80 languages, code and data that the benchmark does not use:
 * the least over-estimate at which the 99th percentile of true/estimated stays under 1.02. The weights of emoji and of
 * rare scripts follow the tokenizer's results one by one. `npm run bench -- tokens` measures the accuracy.
 */
const WEIGHT = {
  /** The beginning of a Latin word: after a non-letter, or a capital after a small letter. A space before it is free. */
  word: 0.8,
  /** Added for each of its first letters. */
  letter: 0.05,
  /** Added for each later letter: long words are in no vocabulary. */
  laterLetter: 0.2,
  /** Added, as the next two: words in capitals are rarer. */
  capital: 0.15,
  /** J, k, q, x and z: rare in English, whose words are tokens, and common in many other texts. */
  rareLetter: 0.82,
  /** A letter that the main languages of its script do not use. */
  foreignLetter: 1.2,
  cyrillicWord: 0.95,
  cyrillicLetter: 0.2,
  /** Each three digits, and the rest of a run. */
  digits: 1.48,
  sign: 0.54,
  lineBreak: 1,
  whiteSpace: 0.62,
  /** A space, a tab or a line break after another of the same kind. */
  repeatedSpace: 0.06,
  /** A character of the scripts that the vocabulary covers best, and less well. */
  knownScript: 0.46,
  rarerScript: 0.65,
  kana: 0.7,
  hangul: 0.8,
  han: 1.02,
  wideSign: 0.8,
  typographicSign: 1,
  symbol: 1.55,
  /** Those of the first blocks; later and rarer ones take three tokens each. */
  emoji: 2,
  rarerEmoji: 2.9,
  /** UTF-8 fragments of two and three bytes, and of four. */
  unknown: 2.3,
  unknownPair: 3.1,
} as const;

/** Number of a word's letters with a low weight. Splitting a word never lowers the estimate: 4 × (0.2 − 0.05) < 0.8. */
const FIRST_LETTERS = 4;

/** Weights of the UTF-16 units above ASCII, each range up to and excluding its end; for a word's letter the added weight. */
const RANGES: readonly (readonly [end: number, weight: number])[] = [
  [0xa0, WEIGHT.symbol],
  [0xc0, WEIGHT.typographicSign],
  [0x2b0, WEIGHT.foreignLetter], // Latin with accents
  [0x370, WEIGHT.symbol], // combining marks
  [0x400, WEIGHT.knownScript], // Greek
  [0x410, WEIGHT.foreignLetter],
  [0x450, WEIGHT.cyrillicLetter], // Russian
  [0x530, WEIGHT.foreignLetter],
  [0x671, WEIGHT.knownScript], // Armenian, Hebrew, Arabic
  [0x700, WEIGHT.foreignLetter], // Persian, Urdu, Uyghur
  [0x900, WEIGHT.unknown],
  [0x980, WEIGHT.knownScript], // Devanagari
  [0xa80, WEIGHT.rarerScript], // Bengali, Gurmukhi
  [0xb00, WEIGHT.knownScript], // Gujarati
  [0xb80, WEIGHT.symbol], // Odia
  [0xc00, WEIGHT.knownScript], // Tamil
  [0xc80, WEIGHT.rarerScript], // Telugu
  [0xd80, WEIGHT.knownScript], // Kannada, Malayalam
  [0xe00, WEIGHT.rarerScript], // Sinhala
  [0xe80, WEIGHT.knownScript], // Thai
  [0xf00, WEIGHT.unknown],
  [0x1000, WEIGHT.symbol], // Tibetan
  [0x10a0, WEIGHT.rarerScript], // Burmese
  [0x1100, WEIGHT.knownScript], // Georgian
  [0x1200, WEIGHT.hangul],
  [0x1780, WEIGHT.unknown],
  [0x1800, WEIGHT.rarerScript], // Khmer
  [0x1e00, WEIGHT.unknown],
  [0x1f00, 0], // Vietnamese: its accents are many, its syllables few
  [0x2000, WEIGHT.foreignLetter],
  [0x2100, WEIGHT.typographicSign],
  [0x2600, WEIGHT.symbol], // arrows, mathematics, boxes
  [0x27c0, WEIGHT.emoji],
  [0x2e00, WEIGHT.symbol],
  [0x3000, WEIGHT.unknown],
  [0x3040, WEIGHT.wideSign],
  [0x3100, WEIGHT.kana],
  [0x3400, WEIGHT.unknown],
  [0xa000, WEIGHT.han],
  [0xac00, WEIGHT.unknown],
  [0xd7b0, WEIGHT.hangul],
  [0xe000, WEIGHT.typographicSign], // half a surrogate pair: a replacement character
  [0xf900, WEIGHT.unknown],
  [0xfb00, WEIGHT.han],
  [0xfe00, WEIGHT.unknown],
  [0xfe10, WEIGHT.typographicSign], // variation selectors
  [0xff00, WEIGHT.unknown],
  [0xff66, WEIGHT.wideSign],
  [0xffa0, WEIGHT.kana],
  [0x10000, WEIGHT.unknown],
];

/** Most estimated tokens per UTF-16 unit of any text. */
export const HEAVIEST_UNIT = WEIGHT.unknown;
/** Fewest estimated tokens per UTF-16 unit. */
export const LIGHTEST_UNIT = WEIGHT.repeatedSpace;

/** Role, separators and name of one message, in tokens. */
export const MESSAGE_OVERHEAD = 4;
export const LINE_BREAK_TOKENS = WEIGHT.lineBreak;

const ROUNDING = 1e-6;
const LINE_BREAK = 10;
const BLANK = 32;

/** A character's class, for the one after it. */
const SMALL = 0;
const CAPITAL = 1;
const CYRILLIC = 2;
const DIGIT = 3;
const SPACE = 4;
const OTHER = 5;

/** From here on, no letter is a Latin word's. */
const LAST_LETTER = 0x1f00;

function kindOf(code: number): number {
  if ((code >= 97 && code <= 122) || (code >= 0xc0 && code < 0x2b0) || (code >= 0x1e00 && code < 0x1f00))
    return SMALL;
  if (code >= 65 && code <= 90) return CAPITAL;
  if (code >= 0x400 && code < 0x530) return CYRILLIC;
  if (code >= 48 && code <= 57) return DIGIT;
  return code === BLANK || code === 9 || code === LINE_BREAK ? SPACE : OTHER;
}

function weightOfAscii(code: number): number {
  const kind = kindOf(code);
  if (kind === OTHER) return WEIGHT.sign;
  const isRare = "jkqxz".includes(String.fromCharCode(code).toLowerCase());
  return (isRare ? WEIGHT.rareLetter : 0) + (kind === CAPITAL ? WEIGHT.capital : 0);
}

/** A table, since every message and every recalled line is measured. */
const UNITS = 0x10000;
const KINDS = new Uint8Array(UNITS).fill(OTHER);
for (let code = 0; code < LAST_LETTER; code++) KINDS[code] = kindOf(code);
const WEIGHTS = new Float64Array(UNITS);
for (let code = 0; code < 0x80; code++) WEIGHTS[code] = weightOfAscii(code);
RANGES.reduce((from, [end, weight]) => {
  WEIGHTS.fill(weight, from, end);
  return end;
}, 0x80);

function weightOfPair(code: number): number {
  if (code >= 0x1f000 && code < 0x1fb00) {
    const isRarer =
      (code >= 0x1f500 && code < 0x1f600) || (code >= 0x1f680 && code < 0x1f900) || code >= 0x1f980;
    return isRarer ? WEIGHT.rarerEmoji : WEIGHT.emoji;
  }
  return code >= 0x20000 && code < 0x40000 ? WEIGHT.han : WEIGHT.unknownPair;
}

function weightOfSpace(code: number, before: number, previous: number, behind: number): number {
  if (code === before) return WEIGHT.repeatedSpace;
  if (code === LINE_BREAK) return WEIGHT.lineBreak;
  // A space belongs to the word or sign after it.
  const isFree = code === BLANK && previous !== SPACE && KINDS[behind] !== SPACE && KINDS[behind] !== DIGIT;
  return isFree ? 0 : WEIGHT.whiteSpace;
}

/**
 * Estimated tokens of a text: a weight per character by its script, and one per word and run of digits.
 * @param most stops counting above this number, since the text may be a paste of megabytes
 * @returns a whole number, 0 for the empty text; exact up to `most`, else some number above it
 */
export function estimateTokens(text: string, most = Infinity): number {
  let sum = 0;
  let code = 0;
  // The surroundings of the text are unknown: assumes white space, which costs most.
  let previous = SPACE;
  /** Length of the present word or run of digits. */
  let length = 0;
  const enough = most + ROUNDING;
  for (let index = 0; index < text.length && sum <= enough; index++) {
    const before = code;
    code = text.charCodeAt(index);
    const kind = KINDS[code] ?? OTHER;
    if (kind <= CAPITAL) {
      const begins = previous > CAPITAL || (kind === CAPITAL && previous === SMALL);
      length = begins ? 1 : length + 1;
      if (begins) sum += WEIGHT.word;
      sum += (WEIGHTS[code] ?? 0) + (length <= FIRST_LETTERS ? WEIGHT.letter : WEIGHT.laterLetter);
    } else if (kind === CYRILLIC) {
      sum += (WEIGHTS[code] ?? 0) + (previous === CYRILLIC ? 0 : WEIGHT.cyrillicWord);
    } else if (kind === DIGIT) {
      length = previous === DIGIT ? length + 1 : 1;
      if (length % 3 === 1) sum += WEIGHT.digits;
    } else if (kind === SPACE) {
      const behind = index + 1 < text.length ? text.charCodeAt(index + 1) : BLANK;
      sum += weightOfSpace(code, before, previous, behind);
    } else {
      const point = code >= 0xd800 && code < 0xdc00 ? (text.codePointAt(index) ?? code) : code;
      sum += point < UNITS ? (WEIGHTS[code] ?? 0) : weightOfPair(point);
      if (point >= UNITS) index++;
    }
    previous = kind;
  }
  // The weights have two decimals: the rest is the rounding error of their sum.
  return Math.max(0, Math.ceil(sum - ROUNDING));
}

/** The longest beginning of a text that has so many estimated tokens, found by halves. Pure. */
export function beginningWithin(text: string, tokens: number): string {
  if (estimateTokens(text, tokens) <= tokens) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateTokens(text.slice(0, middle), tokens) <= tokens) low = middle;
    else high = middle - 1;
  }
  return sliceWhole(text, 0, low);
}

export function sumTokens(all: readonly { readonly tokens: number }[]): number {
  return all.reduce((sum, { tokens }) => sum + tokens, 0);
}
