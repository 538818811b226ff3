/** How long a summary may be, in what a model can count. */
export interface LengthLimit {
  readonly limit: number;
  readonly unit: "words" | "characters";
}

/** Estimated tokens of one word and of one character of a script without spaces, names and numbers included. */
const TOKENS_PER_WORD = 2.2;
const TOKENS_PER_CHARACTER = 1.1;
const CJK_SHARE = 0.3;
/** Characters that tell of a text's script. */
const SAMPLE = 20_000;
const MIN_LIMIT = 12;

/**
 * @param tokens estimated
 * @param sample a text in the language of the summary
 */
export function lengthLimit(tokens: number, sample: string): LengthLimit {
  const head = sample.slice(0, SAMPLE);
  const letters = head.match(/\p{L}/gu)?.length ?? 0;
  const cjk =
    head.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu)?.length ?? 0;
  const isUnspaced = cjk > letters * CJK_SHARE;
  const limit = Math.floor(tokens / (isUnspaced ? TOKENS_PER_CHARACTER : TOKENS_PER_WORD));
  const rounded = limit > 100 ? Math.floor(limit / 10) * 10 : limit;
  return { limit: Math.max(MIN_LIMIT, rounded), unit: isUnspaced ? "characters" : "words" };
}
