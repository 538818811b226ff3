/** The numbers that a text names, in digits or in words. Pure. */

const rows = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .trim()
      .split(/\n\s*/)
      .flatMap((row) => {
        const [value = "", ...words] = row.trim().split(/\s+/);
        return words.map((word) => [word, Number(value)] as const);
      }),
  );

/** `one` is left out: in most languages it is also an article. */
const SMALL = rows(`
  2 two twice both couple pair zwei beide zweimal paar deux dos dois duas due twee два две двое дві
  3 three drei dreimal trois tres tre três drie три трое
  4 four vier quatre cuatro quattro quatro четыре чотири
  5 five fünf cinq cinco cinque vijf пять
  6 six sechs seis sei zes шесть
  7 seven sieben sept siete sette sete zeven семь
  8 eight acht huit ocho otto oito восемь вісім
  9 nine neun neuf nueve nove negen девять
  10 ten zehn dix diez dieci dez tien десять
  11 eleven elf onze once undici onze одиннадцать
  12 twelve zwölf douze doce dodici doze dozen dutzend двенадцать
  13 thirteen dreizehn treize trece tredici
  14 fourteen vierzehn quatorze catorce fortnight
  15 fifteen fünfzehn quinze quince quindici
  16 sixteen sechzehn seize dieciséis
  17 seventeen siebzehn
  18 eighteen achtzehn
  19 nineteen neunzehn
  20 twenty zwanzig vingt veinte venti vinte двадцать
  30 thirty dreißig trente treinta trenta trinta тридцать
  40 forty vierzig quarante cuarenta quaranta quarenta сорок
  50 fifty fünfzig cinquante cincuenta cinquanta пятьдесят
  60 sixty sechzig soixante sesenta
  70 seventy siebzig setenta
  80 eighty achtzig ochenta
  90 ninety neunzig noventa
  100 hundred hundert cent cien cento сто
  1000 thousand tausend mille mil тысяча тысяч
  1000000 million millionen millón milhão миллион`);
const ORDINALS = rows(`
  1 first
  2 second
  3 third
  4 fourth
  5 fifth
  6 sixth
  7 seventh
  8 eighth
  9 ninth
  10 tenth`);
const ONE = new Set(
  "a an one ein eine einem einen einer un une una uno um uma один одну одна een en ett".split(" "),
);

/** How many a word or digits mean; null: it is no number. */
export function countOf(word: string): number | null {
  const lower = word.toLowerCase();
  if (/^\d+$/.test(lower)) return Number(lower);
  if (ONE.has(lower)) return 1;
  const kanji = lower.replaceAll("两", "二").replaceAll("兩", "二");
  if (/^[〇一二三四五六七八九十百千]+$/u.test(kanji)) return kanjiValue(kanji);
  return SMALL.get(lower) ?? null;
}

const KANJI = "〇一二三四五六七八九";
const DIGITS = /\d+(?:[.,:]\d+)*/gu;
/** The characters of a number in Chinese characters, for a class of characters. */
export const NUMERALS = `${KANJI}十百千万億`;
const KANJI_RUN = new RegExp(`[${NUMERALS}]+`, "gu");
/**
 * A number with a counter after it. In names and set phrases ("千葉", "一番", "十分") no counter follows. "一" before the counter of
 * people, times or days is often no number ("一人で").
 */
const COUNTED_RUN = new RegExp(
  String.raw`(?<!\p{Script=Han})(?!十分)(?:[${NUMERALS}]+(?=[人つ分秒匹円時歳才個台本枚階杯冊頭羽泊倍件軒箱袋組社棟艘隻]|か月|ヶ月|カ月|ヵ月|週間|時間|キロ|メートル|ドル|ユーロ)|一(?=[匹円歳才個台枚冊頭羽軒棟艘隻]))`,
  "gu",
);
const WORD = /\p{L}+/gu;

/** Name a number loosely: a paraphrase may have them for something else. */
const LOOSE = new Set(
  "both couple pair paar twice zweimal dreimal fortnight dozen dutzend sei mil onze".split(" "),
);

/** "Two thousand", "40 million", "2k". */
const MULTIPLIED =
  /(?<![\p{N}.,]|(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー])\p{L})(?:(\d{1,6}(?:[.,]\d{1,2})?) ?|(\p{L}{2,12})[ -])((?:hundred|thousand|million|millions|billion|trillion|k|m|mio|mrd|bn|hundert|tausend|millionen|milliarden?|billionen|mille|millones|millions|milliards?|milioni|miliard[io]|milhões|mil|тысячи?|тысяч|миллионов|миллиона?)(?![\p{L}\p{N}])|[億万千百])/giu;
const MULTIPLIERS: ReadonlyMap<string, number> = rows(`
  100 hundred hundert 百
  1000 thousand k tausend mille mil тысяча тысячи тысяч 千
  10000 万
  1000000 million millions m mio millionen millones milioni milhões миллион миллиона миллионов
  100000000 億
  1000000000 billion bn mrd milliarde milliarden milliard milliards miliardo miliardi
  1000000000000 trillion billionen`);
/** Are units as well: "5 m". */
const MAY_BE_UNIT = new Set(["k", "m"]);

/** The products, and the text without them. @param isStrict only what is surely one */
function withoutProducts(text: string, found: Set<string>, isStrict: boolean): string {
  return text.replaceAll(MULTIPLIED, (whole, digits?: string, word = "", by = "") => {
    if (isStrict && MAY_BE_UNIT.has(by.toLowerCase())) return whole;
    const value =
      digits === undefined ? (SMALL.get(word.toLowerCase()) ?? 0) : Number(digits.replace(",", "."));
    const multiplied = Math.round(value * (MULTIPLIERS.get(by.toLowerCase()) ?? 0));
    if (multiplied <= 0) return whole;
    found.add(String(multiplied));
    return " ";
  });
}

/** Digits without separators of thousands. */
export function withoutSeparators(digits: string): string {
  return digits.replaceAll(/[.,](?=\d{3}(?!\d))/g, "");
}

/**
 * Without separators of thousands and leading zeros; each once.
 * @param text with plain digits
 * @param isStrict only numbers that are surely meant as such, and of a product only itself
 */
export function numbersIn(text: string, isStrict = false): ReadonlySet<string> {
  const found = new Set<string>();
  const rest = withoutProducts(text, found, isStrict);
  const looked = isStrict ? rest : text;
  for (const [digits] of looked.matchAll(DIGITS)) {
    const bare = withoutSeparators(digits);
    for (const part of bare.includes(":") ? bare.split(":") : [bare])
      found.add(part.replace(/^0+(?=\d)/, ""));
  }
  let tens = 0;
  for (const [word] of looked.toLowerCase().matchAll(WORD)) {
    const loose = LOOSE.has(word) || ORDINALS.has(word);
    const value = isStrict && loose ? 0 : (SMALL.get(word) ?? ORDINALS.get(word) ?? 0);
    if (value > 0) found.add(String(value));
    if (tens > 0 && value > 0 && value < 10) found.add(String(tens + value));
    tens = value >= 20 && value < 100 ? value : 0;
  }
  for (const [run] of looked.matchAll(isStrict ? COUNTED_RUN : KANJI_RUN)) {
    const value = kanjiValue(run);
    if (value > 0) found.add(String(value));
    if (!isStrict)
      for (const part of run.split(/[万億]/u)) if (part !== "") found.add(String(kanjiValue(part)));
  }
  return found;
}

/** The words for one: in most languages they are also articles. @param word in small letters */
export function isOne(word: string): boolean {
  return ONE.has(word);
}

export function kanjiValue(run: string): number {
  let total = 0;
  let section = 0;
  let digit = 0;
  for (const character of run) {
    const unit = { 十: 10, 百: 100, 千: 1000 }[character];
    const large = { 万: 10_000, 億: 100_000_000 }[character];
    if (large !== undefined) {
      total += Math.max(1, section + digit) * large;
      section = 0;
    } else if (unit !== undefined) section += Math.max(1, digit) * unit;
    else digit = digit * 10 + KANJI.indexOf(character);
    if (large !== undefined || unit !== undefined) digit = 0;
  }
  return total + section + digit;
}
