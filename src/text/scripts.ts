/** Groups of scripts, each as the inside of a regular expression's character class (flag `u`). */

const CHINESE_JAPANESE = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}`;
const THAI = String.raw`\p{Script=Thai}`;
/** Belongs to no single script: it lengthens the vowel before it in a Japanese word. */
const LONG_VOWEL_MARK = "ー";

/** Chinese, Japanese and Thai: their summaries are measured in characters. */
export const MEASURED_IN_CHARACTERS = CHINESE_JAPANESE + THAI;

/** Scripts without spaces between words: a text may end after any character. */
export const UNSPACED_SCRIPTS = String.raw`${CHINESE_JAPANESE}${THAI}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}`;

/** Scripts with unmarked edges of words: those without spaces, and Korean, whose endings are attached to words. */
export const EDGELESS_SCRIPTS = String.raw`${UNSPACED_SCRIPTS}${LONG_VOWEL_MARK}\p{Script=Hangul}`;

/** A character of these. */
export const EDGELESS = new RegExp(`[${EDGELESS_SCRIPTS}]`, "u");

/** Scripts whose pairs of characters the search index has (`character_pairs`). */
export const PAIRED_SCRIPTS = String.raw`${CHINESE_JAPANESE}${THAI}${LONG_VOWEL_MARK}\p{Script=Hangul}`;
