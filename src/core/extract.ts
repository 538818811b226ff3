import { splitSentences, terms } from "./terms.ts";
import { sliceWhole } from "./text.ts";

/** Something that somebody said. */
export interface SpokenLine {
  /** As it is to be shown; "" where it is not known. */
  readonly time: string;
  /** "" where it is not known. */
  readonly author: string;
  readonly text: string;
}

interface Candidate {
  readonly line: number;
  readonly order: number;
  readonly text: string;
  readonly score: number;
}

/** What a summary must not lose, and how much a sentence that has it is worth. */
const SIGNALS: readonly (readonly [pattern: RegExp, worth: number])[] = [
  [/https?:\/\/\S+/, 3],
  // Code, paths, flags, issue numbers, names with inner capitals or underscores, hashes.
  [/`[^`]+`|[\w.-]\/[\w.-]|(?:^|\s)--?[a-z][\w-]+|#\d+|[a-z]\p{Lu}|\w_\w|\b[0-9a-f]{7,40}\b/u, 2],
  [/\d/, 1.5],
  [/[?？]/, 1.5],
  [
    /\b(?:decid|agree|approv|reject|promis|must|deadline|todo|let'?s|we(?:'ll| will)|i(?:'ll| will)|going with|instead of|because|prefer|beschlossen|einig|müssen|frist|weil)|決め|決定|決ま|約束|予定|締め?切|ことにし|必要|好き|决定|同意|必须/i,
    2.5,
  ],
];

/** A sentence with fewer terms than this says "ok" or "thanks": its score falls below nothing. */
const MIN_TERMS = 2;
const SMALL_TALK = -2;

/** `[2026-11-21 14:05] NAME: text`, as far as the parts are known. */
function formatLine({ time, author, text }: SpokenLine): string {
  return `${time === "" ? "" : `[${time}] `}${author === "" ? "" : `${author}: `}${text}`;
}

/**
 * A digest without a model: the sentences that carry links, identifiers, numbers, questions and decisions, word
 * for word, with who said them and when, in the order in which they were said.
 * @param maxCharacters the digest is never longer
 * @returns "" only where nothing was said or nothing fits
 */
export function extractiveDigest(lines: readonly SpokenLine[], maxCharacters: number): string {
  const candidates = scoreSentences(lines);
  const byWorth = candidates.toSorted((a, b) => b.score - a.score || a.order - b.order);
  const chosen = new Map<number, Candidate[]>();
  let room = maxCharacters;
  for (const candidate of byWorth) {
    if (candidate.score < 0) break;
    const line = lines[candidate.line];
    if (line === undefined) continue;
    const others = chosen.get(candidate.line);
    // A line's first sentence pays for its author and time, too, and for a line break.
    const cost =
      candidate.text.length + 1 + (others === undefined ? formatLine({ ...line, text: "" }).length : 0);
    if (cost > room + 1) continue;
    room -= cost;
    if (others === undefined) chosen.set(candidate.line, [candidate]);
    else others.push(candidate);
  }
  const digest = [...chosen.entries()]
    .toSorted(([a], [b]) => a - b)
    .map(([index, parts]) => digestLine(lines[index], parts))
    .join("\n");
  return digest === "" ? shortened(byWorth[0], lines, maxCharacters) : digest;
}

function digestLine(line: SpokenLine | undefined, parts: readonly Candidate[]): string {
  const text = parts
    .toSorted((a, b) => a.order - b.order)
    .map((part) => part.text)
    .join(" ");
  return formatLine({ time: line?.time ?? "", author: line?.author ?? "", text });
}

/** Where not one sentence fits, or none is worth much: the beginning of the best one. */
function shortened(best: Candidate | undefined, lines: readonly SpokenLine[], maxCharacters: number): string {
  const line = best === undefined ? undefined : lines[best.line];
  if (best === undefined || line === undefined) return "";
  const whole = formatLine({ ...line, text: best.text });
  if (whole.length <= maxCharacters) return whole;
  return maxCharacters < 2 ? "" : `${sliceWhole(whole, 0, maxCharacters - 1)}…`;
}

function scoreSentences(lines: readonly SpokenLine[]): Candidate[] {
  const seen = new Set<string>();
  const frequency = new Map<string, number>();
  const found: { line: number; text: string; terms: string[] }[] = [];
  for (const [line, { text }] of lines.entries()) {
    for (const sentence of splitSentences(text)) {
      const words = [...new Set(terms(sentence))];
      // What is said again adds nothing, however often.
      const key = words.join(" ") || sentence;
      if (seen.has(key)) continue;
      seen.add(key);
      for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
      found.push({ line, text: sentence, terms: words });
    }
  }
  return found.map(({ line, text, terms: words }, order) => {
    const signals = SIGNALS.reduce((sum, [pattern, worth]) => sum + (pattern.test(text) ? worth : 0), 0);
    const rarity =
      words.reduce((sum, word) => sum + 1 / (frequency.get(word) ?? 1), 0) / Math.max(1, words.length);
    const size = words.length < MIN_TERMS ? SMALL_TALK : Math.log2(1 + words.length) / 4;
    // Later lines are worth a little more: what was said last is what still holds.
    return { line, order, text, score: signals + rarity + size + order / Math.max(1, found.length) / 2 };
  });
}
