/** Questions made from a Japanese message, so that their answer is known. Pure. */

const PIECE = 12;
const MIN_CHARACTERS = 16;

/** Twelve consecutive characters from its middle; null: it is too short. */
export function pieceOf(text: string): string | null {
  const [run = ""] = [...text.matchAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu)]
    .map(([match]) => match)
    .toSorted((a, b) => b.length - a.length);
  const characters = Array.from(run);
  if (characters.length < MIN_CHARACTERS) return null;
  const from = Math.floor((characters.length - PIECE) / 2);
  return characters.slice(from, from + PIECE).join("");
}

/** Its three longest words in Chinese characters or katakana, as a question; null: it has fewer. */
export function contentQuestion(text: string): string | null {
  const words = new Set(text.match(/\p{Script=Han}{2,}|[\p{Script=Katakana}ー]{3,}/gu));
  const longest = [...words].toSorted((a, b) => b.length - a.length).slice(0, 3);
  return longest.length < 3 ? null : `${longest.join("と")}の話をしたのはいつですか？`;
}
