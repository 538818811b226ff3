/** Conversations that are the same in every run: words by Zipf's law, with names, numbers, links and identifiers. */

/** Numbers from 0 to 1, determined by a seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const VOCABULARY = 8000;
const SYLLABLES = [
  "ba",
  "do",
  "fen",
  "gra",
  "hu",
  "ki",
  "lor",
  "mi",
  "na",
  "pel",
  "qua",
  "ri",
  "so",
  "tun",
  "ve",
  "zu",
];
const FIRST_WORDS = "the to and a of is it in we that for on you this with at not are be was".split(" ");
export const PEOPLE = ["Mira", "Jonas", "Ayla", "Bertil", "Chidi", "Dara", "Emre", "Fumi"];

/** A made-up word; the first ranks are common English words. */
function word(rank: number): string {
  const common = FIRST_WORDS[rank];
  if (common !== undefined) return common;
  let rest = rank;
  let text = "";
  do {
    text += SYLLABLES[rest % SYLLABLES.length];
    rest = Math.floor(rest / SYLLABLES.length);
  } while (rest > 0);
  return text;
}

/** Sentences of about `length` characters. */
export function createTalk(seed: number): (length: number) => string {
  const random = createRandom(seed);
  const pick = (): string => word(Math.floor(VOCABULARY ** random()) - 1);
  const detail = (): string => {
    const kind = random();
    const number = Math.floor(random() * 10_000);
    if (kind < 0.25) return `https://example.org/${pick()}/${number}`;
    if (kind < 0.5) return `${pick()}_${pick()}`;
    if (kind < 0.8) return String(number);
    return PEOPLE[number % PEOPLE.length] ?? "";
  };
  const sentence = (): string => {
    const words = Array.from({ length: 5 + Math.floor(random() * 10) }, () => pick());
    if (random() < 0.4) words.splice(2, 0, detail());
    return `${words.join(" ")}${random() < 0.15 ? "?" : "."}`;
  };
  return (length) => {
    let text = sentence();
    while (text.length < length) text += ` ${sentence()}`;
    return text.slice(0, Math.max(length, 20));
  };
}

/** Han and kana for the words of {@link createMixedTalk}. */
const KANJI =
  "日本会議資料場所変更時間明日天気料理東京駅前電車予定連絡先月曜水金土山川海空花鳥風森林道店員社学校生徒先輩";
const KANA = "のにをはがとでもからまでよりへやなどきますしたいれるこそあどうくりさちつてぬねほみむめゆらわ";

/** A made-up word in a script without spaces, by its rank. */
function unspacedWord(rank: number): string {
  const from = (letters: string, index: number): string => letters.charAt(index % letters.length);
  return from(KANJI, rank) + from(KANJI, rank * 7 + 3) + from(KANA, rank * 3);
}

/** The same with sentences in a script without spaces between, like pasted logs and notes. */
export function createMixedTalk(seed: number): (length: number) => string {
  const random = createRandom(seed);
  const talk = createTalk(seed + 1);
  const unspaced = (): string =>
    Array.from({ length: 15 }, () => unspacedWord(Math.floor(VOCABULARY ** random()))).join("");
  return (length) => {
    let text = unspaced();
    while (text.length < length) text += ` ${random() < 0.5 ? unspaced() : talk(80)}`;
    return text.slice(0, length);
  };
}
