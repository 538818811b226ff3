/** Texts compared by the words they share: enough to quote with, and no model needed. */

/** Scripts that are written without spaces, or whose endings stick to the word: compared by pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const WORD = /[\p{L}\p{N}\p{M}_]+/gu;

const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about all also am an and any are as at be because been but by can could did do does for from get had has have
  he her him his how i if in into is it its just let like me my no not now of off on one or our out over please
  said say she should so some tell than that the their them then there these they this those to too up us was we
  were what when where which who whom whose why will with would yes you your`.split(/\s+/),
);

const sentences = new Intl.Segmenter("und", { granularity: "sentence" });

/** The sentences of a text, trimmed, none empty; a line break ends one, too. */
export function splitSentences(text: string): string[] {
  return text
    .split(/\n+/)
    .flatMap((line) => [...sentences.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => sentence !== "");
}

/**
 * What a text is about: words without endings and without the most common English ones, and pairs of characters
 * for scripts without spaces. Repeated terms are repeated.
 */
export function terms(text: string): string[] {
  const found: string[] = [];
  for (const [word] of text.normalize("NFKC").toLowerCase().matchAll(WORD)) {
    for (const [run] of word.matchAll(UNSPACED)) found.push(...pairs(run));
    for (const rest of word.split(UNSPACED)) {
      if (rest !== "" && !STOP_WORDS.has(rest) && (rest.length > 1 || /\d/.test(rest)))
        found.push(stem(rest));
    }
  }
  return found;
}

/** Pairs of kana alone are mostly grammar: they count only where a run has nothing else. */
function pairs(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length === 1) return characters;
  const all = characters.slice(1).map((character, index) => `${characters[index]}${character}`);
  const content = all.filter((pair) => !/^\p{Script=Hiragana}+$/u.test(pair));
  return content.length > 0 ? content : all;
}

function stem(word: string): string {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return word;
  return word.replace(/ies$/, "y").replace(/(?:ing|ed|es|s)$/, "");
}

/** How well a document answers a query. */
export interface Match {
  /** Place of the document in the list that was ranked. */
  readonly index: number;
  /** BM25. */
  readonly score: number;
  /** The share of the query that is in the document, rare terms weighing more: 0 to 1. */
  readonly coverage: number;
}

const K1 = 1.2;
const B = 0.5;

/**
 * Documents that share a term with the query, best first; of equals the later one. Okapi BM25 with the usual
 * constants, b lowered because chat lines are short.
 */
export function rankDocuments(query: string, documents: readonly string[]): Match[] {
  const counted = documents.map((document) => countTerms(document));
  const averageLength = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const wanted = [...new Set(terms(query))].map((term) => {
    const containing = counted.filter(({ counts }) => counts.has(term)).length;
    return { term, weight: Math.log(1 + (documents.length - containing + 0.5) / (containing + 0.5)) };
  });
  const whole = wanted.reduce((sum, { weight }) => sum + weight, 0);
  const matches = counted.flatMap(({ counts, length }, index) => {
    let score = 0;
    let covered = 0;
    for (const { term, weight } of wanted) {
      const count = counts.get(term) ?? 0;
      if (count === 0) continue;
      covered += weight;
      score += (weight * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / averageLength));
    }
    return score === 0 ? [] : [{ index, score, coverage: covered / whole }];
  });
  return matches.toSorted((a, b) => b.score - a.score || b.index - a.index);
}

function countTerms(document: string): { counts: Map<string, number>; length: number } {
  const counts = new Map<string, number>();
  const all = terms(document);
  for (const term of all) counts.set(term, (counts.get(term) ?? 0) + 1);
  return { counts, length: all.length };
}
