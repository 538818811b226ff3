import { normalForm } from "../text/text.ts";
import { withoutUnseen } from "../text/unseen.ts";
import { UNIT, unnamed, UNSPACED_COUNT } from "../text/time-units.ts";

/**
 * Words that mean another day whenever they are read, in the languages that people are most likely to use here. One
 * that has other meanings counts only where it stands as a date: `hier` is "yesterday" in French and "here" in German,
 * `morgen` and `mañana` are also the morning.
 */

const UNIT_EN =
  "(?:week(?:end)?|month|year|quarter|morning|afternoon|evening|night|spring|summer|autumn|winter|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?";
const UNIT_DE =
  "(?:woche|monat|jahr|wochenende|quartal|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)";
const UNIT_FR = "(?:semaine|mois|an|année|week-end|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)";
const UNIT_ES = "(?:semana|mes|año|lunes|martes|miércoles|jueves|viernes|sábado|domingo|fin de semana)";

const COUNT =
  "(?:\\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|thirty|sixty|ninety|(?:a )?(?:few|couple of)|several|ein(?:e[mnr]?)?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|vierzehn|ein paar|einigen|wenigen|une?|deux|trois|quatre|cinq|six|sept|huit|dix|quinze|quelques|una?|dos|tres|cuatro|cinco|seis|siete|ocho|diez|quince|pocos|pocas|unos|unas|uno?|due|tre|quattro|cinque|sei|sette|otto|dieci|pochi|poche|qualche|uma?|dois|duas|três|quatro|sete|oito|dez|poucos|одну|один|два|две|три|четыре|пять|шесть|семь|десять|несколько|een|twee|drie|vijf|zes|ett?|två|fyra)";

/** Each is looked for as whole words. */
const WORDS: readonly string[] = [
  "today|tonight|tomorrow|yesterday",
  `(?:next|last|this|coming|past|previous) ${UNIT_EN}`,
  "(?:an?|one|two|three|few|several|couple of|[0-9]+) (?:hour|day|week|month|year)s? (?:ago|from now)",
  // A day by its distance from the one on which it was said.
  `in (?:an?|${COUNT}) ${unnamed(UNIT)}(?:['’]s? time)?`,
  "(?:in )?a fortnight(?: from now|'s time)?|in the coming (?:days|weeks|months)|the day (?:after tomorrow|before yesterday)",
  `(?:vor|dans|il y a|en|dentro de|hace|tra|fra|em|daqui a|há|через|over|om|za) ${COUNT} ${unnamed(UNIT)}`,
  `${COUNT} ${unnamed(UNIT)} (?:fa|geleden|назад|atrás)`,
  "domani|ieri|dopodomani|stasera|stamattina|oggi|amanhã|ontem|hoje|завтра|вчера|сегодня|послезавтра|позавчера|jutro|wczoraj|dzisiaj|imorgon|igår",
  "heute|gestern|vorgestern|übermorgen|(?<!(?:guten|am|jeden|den) )morgen",
  `(?:nächste|letzte|vergangene|vorige|kommende|diese)[nrsm]? ${UNIT_DE}`,
  "aujourd'hui|demain|après-demain|avant-hier|ce soir|ce matin|hier (?:soir|matin)",
  "(?<=(?:^| )(?:le|la|les|une?|est|elle|il|avec|pour|était|a)(?: .{0,80})? )hier",
  `${UNIT_FR} (?:prochaine?|dernière?|dernier|passée?)`,
  "hoy|ayer|anteayer|anoche|(?<!(?:la|las|cada) )mañana",
  `(?:próxim[oa]|pasad[oa]) ${UNIT_ES}|${UNIT_ES} (?:próxim[oa]|pasad[oa]|que viene)`,
];

/** Scripts without spaces, and Korean, whose endings stick to the word: looked for anywhere. */
const PIECES =
  /今日|明日|昨日|昨夜|今夜|今晩|明後日|一昨日|あした|きのう|おととい|あさって|(?:今|来|先|去|再来|先々)(?:週|月)|(?:今|来|去|昨|明)年|今天|明天|昨天|前天|[后後]天|今晚|(?:上|下|本|这|這)(?:个|個)?(?:周|週|月|星期|礼拜|禮拜)|오늘|내일|어제|모레|(?:다음|지난|이번) ?(?:주|달|해)/u;
const COUNTED = new RegExp(`${unnamed(UNSPACED_COUNT)} ?[以之]?(?:前(?!提)|[后後]|전|후|뒤)`, "u");

const WHOLE_WORDS = new RegExp(
  `(?<![\\p{L}\\p{M}\\p{N}])(?:${WORDS.join("|")})(?![\\p{L}\\p{M}\\p{N}])`,
  "u",
);
const ABSOLUTE = /\d{4}-\d\d-\d\d/;

/** Whether a statement names a day only relative to an unknown one. Pure. */
export function hasRelativeDate(statement: string): boolean {
  if (ABSOLUTE.test(statement)) return false;
  const text = withoutUnseen(normalForm(statement, "NFKC"))
    .toLowerCase()
    .replaceAll("’", "'")
    .replaceAll(/\s+/g, " ");
  return WHOLE_WORDS.test(text) || PIECES.test(text) || COUNTED.test(text);
}
