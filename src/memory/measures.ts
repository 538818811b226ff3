import { countOf, isOne, kanjiValue, NUMERALS, withoutSeparators } from "../text/number-words.ts";

/** Whether the times of day and the units of amounts in a statement are those that were said. Pure. */

interface Clock {
  /** Of the day. */
  readonly minutes: number;
  /** It may be in the other half of the day as well. */
  readonly isOpen: boolean;
  readonly hasMinutes: boolean;
  readonly from: number;
  readonly to: number;
}

const ONLY_NUMERALS = new RegExp(`^[${NUMERALS}]+$`, "u");
const CLOCK =
  /(?<![\p{L}\p{N}.,:/])(?<hour>\d{1,2})(?:(?::(?<minute>[0-5]\d)(?::\d\d)?|[.h](?<uhr>[0-5]\d)(?= ?uhr(?!\p{L})|(?<=h\d\d)(?![\p{L}\p{N}])))(?!\d)(?: ?(?<half>[ap])\.?m(?![\p{L}\p{N}]))?| ?(?<alone>[ap])\.?m(?![\p{L}\p{N}])| ?uhr(?: (?<behind>[0-5]\d)(?!\d))?(?![\p{L}\p{N}]))/giu;
const UNSPACED_CLOCK = new RegExp(
  `(?<half>午前|午後|上午|下午|오전|오후)?\\s?(?<hour>\\d{1,2}|[${NUMERALS}]{1,3})\\s?(?:[時时](?!間|间)|시(?!간))\\s?(?:(?<minute>\\d{1,2}|[${NUMERALS}]{1,3})\\s?[分분]|(?<thirty>[半반]))?`,
  "gu",
);
const AFTER_NOON = /^(?:p|午後|下午|오후)$/iu;
const HALF_DAY = 720;

function clocksIn(text: string): Clock[] {
  return [...text.matchAll(CLOCK), ...text.matchAll(UNSPACED_CLOCK)].flatMap(
    ({ 0: found, index, groups = {} }) => {
      const hour = valueOf(groups["hour"] ?? "");
      const minute = groups["minute"] ?? groups["uhr"] ?? groups["behind"] ?? (groups["thirty"] && "30");
      const half = groups["half"] ?? groups["alone"];
      if (hour > 24) return [];
      const hours = half === undefined ? hour : (hour % 12) + (AFTER_NOON.test(half) ? 12 : 0);
      return [
        {
          minutes: hours * 60 + valueOf(minute ?? "0"),
          isOpen: half === undefined && hour > 0 && hour <= 12,
          hasMinutes: minute !== undefined,
          from: index,
          to: index + found.length,
        },
      ];
    },
  );
}

function valueOf(number: string): number {
  return /^\d+$/.test(number) ? Number(number) : kanjiValue(number);
}

function isSameHalf(one: Clock, other: Clock): boolean {
  return one.isOpen || other.isOpen || one.minutes < HALF_DAY === other.minutes < HALF_DAY;
}

function isSameHour(one: Clock, other: Clock): boolean {
  return Math.floor((one.minutes % HALF_DAY) / 60) === Math.floor((other.minutes % HALF_DAY) / 60);
}

/** The first time of day that was not said, and the text without those that were. */
export function timesOfDay(
  text: string,
  told: readonly string[],
): { readonly unfound: string | null; readonly rest: string } {
  const said = told.flatMap(clocksIn);
  let rest = text;
  for (const clock of clocksIn(text)) {
    const written = text.slice(clock.from, clock.to);
    const isSaid = said.some(
      (one) => one.minutes % HALF_DAY === clock.minutes % HALF_DAY && isSameHalf(one, clock),
    );
    if (!isSaid && contradicts(clock, said)) return { unfound: written.trim(), rest };
    // "9:00" of "at 9".
    const left = isSaid ? "" : written.replace(/^(\d{1,2}):00/, "$1");
    rest = rest.slice(0, clock.from) + left.padEnd(written.length) + rest.slice(clock.to);
  }
  return { unfound: null, rest };
}

/** Whether times that were said rule out another one: an hour without minutes may be rounded. */
function contradicts(clock: Clock, said: readonly Clock[]): boolean {
  if (clock.hasMinutes && clock.minutes % 60 !== 0) return said.length > 0;
  const atThatHour = said.filter((one) => isSameHour(one, clock));
  return atThatHour.length > 0 && (clock.hasMinutes || !atThatHour.some((one) => isSameHalf(one, clock)));
}

/** By what they measure, the names of each unit. */
const UNITS: Readonly<Record<string, readonly string[]>> = {
  money: [
    "euro euros eur € ユーロ 欧元 유로",
    "dollar dollars usd buck bucks $ ドル 美元 dólar dólares dollaro dollari 달러",
    "pound pounds gbp quid £ pfund ポンド 英镑 libra libras",
    "yen jpy ¥ 円 日元 엔",
    "franc francs franken chf",
    "yuan rmb cny 元",
    "won krw 원",
    "rouble roubles ruble rubles ₽ рубль рубля рублей",
    "rupee rupees inr ₹",
    "cent cents セント",
  ],
  time: [
    "second seconds sec secs sekunde sekunden seconde secondes segundo segundos secondi 秒",
    "minute minutes min mins minuten minuto minutos minuti 分",
    "hour hours hr hrs h stunde stunden heure heures hora horas ora ore 時間 小时 시간",
    "day days tag tage tagen jour jours día días giorno giorni 日 天 일",
    "week weeks woche wochen semaine semaines semana semanas settimana settimane 週間 周 주",
    "month months monat monate monaten mois mes meses mese mesi か月 ヶ月 カ月 个月 개월",
    "year years jahr jahre jahren an ans année années año años anno anni 年 歳 岁 년 살",
  ],
  length: [
    "km kilometer kilometers kilometre kilometres kilometern kilomètres kilómetros chilometri キロメートル 公里",
    "mile miles mi meile meilen millas マイル",
    "m meter meters metre metres metern mètre mètres metro metros metri メートル 米",
    "cm centimeter centimeters centimetre centimetres zentimeter センチ",
    "mm millimeter millimeters millimetre millimetres",
    "ft foot feet フィート",
    "inch inches zoll インチ",
  ],
  weight: [
    "kg kilo kilos kilogram kilograms kilogramm 公斤",
    "g gram grams gramm gramme grammes gramos",
    "pound pounds lb lbs libra libras ポンド",
    "oz ounce ounces",
    "ton tons tonne tonnes tonnen トン",
  ],
  data: ["kb", "mb", "gb", "tb"],
  temperature: ["celsius c", "fahrenheit f"],
  volume: ["l litre litres liter liters litros リットル", "ml millilitres milliliter", "gallon gallons"],
};

/** What it measures, and which of its units: "money 0". */
const UNIT_OF = new Map<string, string[]>();
for (const [measure, units] of Object.entries(UNITS))
  for (const [place, names] of units.entries())
    for (const name of names.split(" "))
      UNIT_OF.set(name, [...(UNIT_OF.get(name) ?? []), `${measure} ${place}`]);
const UNSPACED_UNITS = [...UNIT_OF.keys()]
  .filter((name) => /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(name))
  .toSorted((a, b) => b.length - a.length);

const TOKEN = new RegExp(
  `\\d+(?:[.,]\\d+)*|[${NUMERALS}]+|[$€£¥₹₽]|(?:(?![${NUMERALS}])[\\p{L}\\p{M}ー])+`,
  "gu",
);
const MULTIPLIER =
  /^(?:hundred|thousand|hundert|tausend|mill?e?|(?:m|b|tr)\p{L}*illi\p{L}*|mill?(?:ones|oni)|miliard[io]|k|mio|mrd|bn|[万億]+)$/u;

function unitsOf(token: string): readonly string[] {
  const unspaced = UNSPACED_UNITS.find((name) => token.startsWith(name));
  return UNIT_OF.get(token) ?? (unspaced === undefined ? [] : (UNIT_OF.get(unspaced) ?? []));
}

interface Amount {
  /** The number, and what is measured. */
  readonly key: string;
  readonly unit: string;
  readonly text: string;
}

function amountsIn(text: string): Amount[] {
  const lower = text.toLowerCase();
  const tokens = [...lower.matchAll(TOKEN)].map(({ 0: word, index }) => ({
    word,
    from: index,
    to: index + word.length,
  }));
  const follows = (place: number): boolean =>
    /^[ -]?$/.test(lower.slice(tokens[place - 1]?.to, tokens[place]?.from));
  return tokens.flatMap(({ word, from }, place) => {
    const number = numberOf(word);
    if (number === null) return [];
    const before = tokens[place - 1]?.word ?? "";
    const isMultiplied = follows(place + 1) && MULTIPLIER.test(tokens[place + 1]?.word ?? "");
    const behind = place + (isMultiplied ? 2 : 1);
    const unit = tokens[behind];
    const units = [
      ...(/^[$€£¥₹₽]$/u.test(before) && follows(place) ? unitsOf(before) : []),
      ...(unit !== undefined && follows(behind) ? unitsOf(unit.word) : []),
    ];
    return units.map((one) => ({
      key: `${number} ${one.split(" ")[0]}`,
      unit: one,
      text: text.slice(from, unit?.to),
    }));
  });
}

/** A word for one is an article in most languages. */
function numberOf(word: string): string | null {
  if (/^\d/.test(word)) return withoutSeparators(word);
  if (isOne(word)) return null;
  if (ONLY_NUMERALS.test(word)) return String(kanjiValue(word));
  const count = countOf(word);
  return count === null ? null : String(count);
}

/** The first amount that was said with other units of the same kind alone. */
export function unfoundAmount(text: string, told: readonly string[]): string | null {
  const amounts = amountsIn(text);
  if (amounts.length === 0) return null;
  const said = Map.groupBy(told.flatMap(amountsIn), ({ key }) => key);
  // A pound is money or a weight.
  const isSaid = ({ key, unit }: Amount): boolean => {
    const known = said.get(key);
    return known === undefined || known.some((one) => one.unit === unit);
  };
  return amounts.find((one) => !isSaid(one))?.text ?? null;
}
