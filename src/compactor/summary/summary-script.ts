import type { SourceLine } from "./source.ts";

/** Whether a summary is in the script of the talk that it summarises. Pure. */

interface Script {
  /** For a sentence: "Japanese characters". */
  readonly name: string;
  readonly letters: RegExp;
  /** Weight of a letter: one of Chinese says as much as several Latin ones. */
  readonly weight: number;
}

const KANA = String.raw`\p{Script=Hiragana}\p{Script=Katakana}`;
const script = (name: string, letters: string, weight = 1): Script => ({
  name,
  letters: new RegExp(`[${letters}]`, "gu"),
  weight,
});
const SCRIPTS: readonly Script[] = [
  script("Latin", String.raw`\p{Script=Latin}`),
  script("Cyrillic", String.raw`\p{Script=Cyrillic}`),
  script("Greek", String.raw`\p{Script=Greek}`),
  script("Arabic", String.raw`\p{Script=Arabic}`),
  script("Hebrew", String.raw`\p{Script=Hebrew}`),
  script("Devanagari", String.raw`\p{Script=Devanagari}`),
  script("Thai", String.raw`\p{Script=Thai}`),
  script("Korean", String.raw`\p{Script=Hangul}`, 3),
  // Chinese and Japanese share characters, and only Japanese has kana.
  script("Chinese or Japanese", String.raw`\p{Script=Han}${KANA}`, 3),
];
const KANA_LETTER = new RegExp(`[${KANA}]`, "gu");

/** Share of the letters of a talk from which it is in this script. */
const MOST = 0.6;
/** A summary in this script has a smaller share of others only in names. */
const LEAST = 0.15;
/** Share of kana from which a text is Japanese. */
const JAPANESE = 0.15;
/** A summary with fewer letters may consist of names. */
const FEW_LETTERS = 20;
/** Characters of the newest lines that are counted. */
const LOOKED_AT = 20_000;

/** Links, code, paths and mentions are written in Latin letters, whatever the language. */
const OF_NO_LANGUAGE =
  /```[^`]*```|`[^`\n]*`|https?:\/\/\S+|<[^>\s]{1,200}>|(?<![\w.-])[\w.-]{1,60}[/@][\w./@-]+/gu;

/** The name of the script of most of a talk, if a summary is in another one; null: it is in this one, or there is no such script. */
export function scriptMissed(summary: string, lines: readonly SourceLine[]): string | null {
  let said = "";
  for (const { text, isSpoken } of lines.toReversed()) {
    if (isSpoken) said += `${text}\n`;
    if (said.length >= LOOKED_AT) break;
  }
  const talk = weigh(said);
  const wrote = weigh(summary);
  if (wrote.all < FEW_LETTERS) return null;
  for (const { name } of SCRIPTS) {
    if (shareOf(name, talk) < MOST) continue;
    if (shareOf(name, wrote) < LEAST) return nameOf(name, talk.kana);
    const isJapanese = talk.kana >= JAPANESE;
    if (name === "Chinese or Japanese" && isJapanese && wrote.kana === 0) return nameOf(name, talk.kana);
  }
  return null;
}

function nameOf(name: string, kana: number): string {
  if (name !== "Chinese or Japanese") return name;
  return kana >= JAPANESE ? "Japanese" : "Chinese";
}

function weigh(text: string) {
  const plain = text.slice(0, LOOKED_AT).replaceAll(OF_NO_LANGUAGE, " ");
  const weights = new Map<string, number>();
  for (const { name, letters, weight } of SCRIPTS)
    weights.set(name, (plain.match(letters)?.length ?? 0) * weight);
  const shared = weights.get("Chinese or Japanese") ?? 0;
  // Share of kana of the Chinese and Japanese characters.
  const kana = shared === 0 ? 0 : ((plain.match(KANA_LETTER)?.length ?? 0) * 3) / shared;
  return { weights, kana, all: [...weights.values()].reduce((sum, weight) => sum + weight, 0) };
}

function shareOf(name: string, { weights, all }: Pick<ReturnType<typeof weigh>, "weights" | "all">): number {
  return all === 0 ? 0 : (weights.get(name) ?? 0) / all;
}
