import type { MemoryType } from "../../core/memory.ts";
import { splitSentences, terms } from "../../text/terms.ts";
import type { NumberedLine } from "./transcript.ts";

/** One item of `memory_save`, as its schema requires. */
export interface MemoryItem {
  readonly type: MemoryType;
  readonly subject: string;
  readonly statement: string;
  readonly quote: string;
  readonly sources: readonly number[];
}

/**
 * Signs of sentences worth keeping, each with its memory type; earlier signs count more. People speak about themselves:
 * "must be" and "have to" about anything else are guesses and descriptions.
 */
const SIGNALS: readonly (readonly [type: MemoryItem["type"], pattern: RegExp])[] = [
  [
    "decision",
    /\b(?:(?:we|i)(?:'ve| have)? (?:decided|agreed)|(?:we|let)(?:'re| are|'s)? (?:going with|go with)|(?:wir|ich)(?: haben| habe)? .{0,80}(?:beschlossen|entschieden))\b|決め(?:た|まし)|決定し|ことにし|决定/i,
  ],
  [
    "identity",
    /\b(?:my name is|i am called|i live in|i work (?:at|for|in|as|on)|i'm from|i am from|ich heiße|ich wohne|ich arbeite)\b|と申し|に住んで|で働い/i,
  ],
  [
    "preference",
    /\b(?:i (?:really |always |usually |much )?(?:prefer|like|love|hate|dislike)|my favou?rite|ich mag|ich .{0,40}am liebsten)\b|が好き|喜欢/i,
  ],
  ["commitment", /\b(?:i|we)(?:'ll| will| promise)\b|\bich (?:werde|verspreche)\b|約束し|ておきます/i],
  [
    "todo",
    /\btodo\b|\b(?:i|we) (?:(?:still|also) )?(?:(?:need|have) to|must)\b(?! (?:have|be)\b)|\b(?:ich muss|wir müssen)\b|必須|必要があ/i,
  ],
];

/** Terms besides the signal: a sentence with fewer has nothing to search for. */
const MIN_TERMS = 1;
const MAX_ITEMS = 5;
/** UTF-16 units. A longer sentence is a pasted text. */
const MAX_SENTENCE = 350;

/**
 * Sentences of a transcript worth keeping: decisions, promises, preferences, who people are, tasks. Word for word;
 * without the agent's own lines, which only quote. Deterministic.
 */
export function findMemories(
  lines: readonly NumberedLine[],
  isAgent: (name: string) => boolean,
): MemoryItem[] {
  const found: { item: MemoryItem; worth: number; order: number }[] = [];
  const seen = new Set<string>();
  for (const line of lines.filter(({ author }) => author !== "" && !isAgent(author))) {
    for (const sentence of splitSentences(line.text)) {
      const key = `${line.author}\n${sentence.toLowerCase()}`;
      const worth = isUsable(sentence) && !seen.has(key) ? signalOf(sentence) : -1;
      const type = SIGNALS[worth]?.[0];
      if (type === undefined) continue;
      seen.add(key);
      found.push({ item: toItem(type, sentence, line), worth, order: found.length });
    }
  }
  return found
    .toSorted((a, b) => a.worth - b.worth)
    .slice(0, MAX_ITEMS)
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item);
}

function isUsable(sentence: string): boolean {
  return sentence.length <= MAX_SENTENCE && !/[?？]["'”’)\]]*$/.test(sentence);
}

/** Index of the first signal in a sentence; -1: none. */
function signalOf(sentence: string): number {
  const text = sentence.replaceAll("’", "'");
  return SIGNALS.findIndex(
    ([, pattern]) => pattern.test(text) && terms(text.replace(pattern, " ")).length >= MIN_TERMS,
  );
}

function toItem(type: MemoryItem["type"], sentence: string, line: NumberedLine): MemoryItem {
  const { number, author, time } = line;
  const statement = `${author} (${time.slice(0, 10)}): ${sentence}`;
  return { type, subject: author, statement, quote: sentence, sources: [number] };
}
