/**
 * Token estimates that err on the safe side. Characters / 4 under-estimates by up to three times (CJK, emoji,
 * lock files), and an under-estimate is the dangerous direction: the request no longer fits the window.
 */

/** Weights whose 95th percentile of true/estimated stays under 1 on o200k. */
const WEIGHT = {
  asciiLetter: 0.135,
  extendedLatin: 0.735,
  digit: 0.54,
  punctuation: 0.764,
  whiteSpace: 0.391,
  han: 1.036,
  kana: 0.823,
  hangul: 0.963,
  otherScript: 0.423,
  emoji: 1.953,
  wordRun: 0.562,
} as const;

const ROUNDING = 1e-6;

/** No text has more estimated tokens per UTF-16 unit than this. */
export const HEAVIEST_UNIT = WEIGHT.emoji + WEIGHT.wordRun;

/** Role, separators and name of one message, in tokens. */
export const MESSAGE_OVERHEAD = 4;

function weightOfAscii(code: number): number {
  if ((code >= 97 && code <= 122) || (code >= 65 && code <= 90)) return WEIGHT.asciiLetter;
  if (code >= 48 && code <= 57) return WEIGHT.digit;
  if (code <= 32 || code === 127) return WEIGHT.whiteSpace;
  return WEIGHT.punctuation;
}

/** … and by table: most of what is said is ASCII, and every message and every recalled line is counted. */
const ASCII_WEIGHTS = Float64Array.from({ length: 0x80 }, (_, code) => weightOfAscii(code));

function isCjkIdeograph(code: number): boolean {
  return (
    (code >= 0x3400 && code <= 0x9fff) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0x20000 && code <= 0x3ffff)
  );
}

function isEmoji(code: number): boolean {
  return (
    (code >= 0x1f000 && code <= 0x1faff) ||
    (code >= 0x2600 && code <= 0x27bf) ||
    (code >= 0xe0000 && code <= 0xe0fff)
  );
}

function weightOfCodePoint(code: number): number {
  if (code < 0xa0) return WEIGHT.otherScript;
  if (code < 0xc0) return WEIGHT.punctuation;
  if (code < 0x250) return WEIGHT.extendedLatin;
  if (isCjkIdeograph(code)) return WEIGHT.han;
  if ((code >= 0x3040 && code <= 0x30ff) || (code >= 0xff66 && code <= 0xff9f)) return WEIGHT.kana;
  if ((code >= 0xac00 && code <= 0xd7af) || (code >= 0x1100 && code <= 0x11ff)) return WEIGHT.hangul;
  if (isEmoji(code)) return WEIGHT.emoji;
  if (
    (code >= 0x2000 && code <= 0x2bff) ||
    (code >= 0x3000 && code <= 0x303f) ||
    (code >= 0xff00 && code <= 0xff65)
  ) {
    return WEIGHT.punctuation;
  }
  // Combining marks, variation selectors, private use and astral scripts fall to byte-pair fragments.
  if (code >= 0xfe00 || (code >= 0x300 && code <= 0x36f)) return WEIGHT.emoji;
  return WEIGHT.otherScript;
}

/**
 * Estimated tokens of a text: a weight per character by its script, and one per run of letters.
 * @param most where there are more than so many it counts no further: the text may be a paste of megabytes
 * @returns a whole number, 0 for the empty text; exact up to `most`, else some number above it
 */
export function estimateTokens(text: string, most = Infinity): number {
  let sum = 0;
  let inWord = false;
  const enough = most + ROUNDING;
  for (let index = 0; index < text.length && sum <= enough; index++) {
    let code = text.charCodeAt(index);
    let isLetter: boolean;
    if (code < 0x80) {
      sum += ASCII_WEIGHTS[code] ?? 0;
      isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
    } else {
      code = text.codePointAt(index) ?? 0;
      if (code > 0xffff) index++;
      sum += weightOfCodePoint(code);
      isLetter = code >= 0xc0 && code < 0x2000;
    }
    if (isLetter && !inWord) sum += WEIGHT.wordRun;
    inWord = isLetter;
  }
  // The weights have three decimals: what lies beyond them is the rounding of their sum.
  return Math.max(0, Math.ceil(sum - ROUNDING));
}

export function sumTokens(all: readonly { readonly tokens: number }[]): number {
  return all.reduce((sum, { tokens }) => sum + tokens, 0);
}
