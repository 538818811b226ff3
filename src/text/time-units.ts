/** Units of relative times, as parts of expressions, with a named group each. */

export const UNIT =
  "(?:(?<days>days?|tag(?:en?)?|jours?|días?|giorn[oi]|dias?|день|дня|дней|dagen|dag|dagar|dni|dzień)|(?<weeks>weeks?|wochen?|semaines?|semanas?|settiman[ae]|недел[юиь]|weken|veck(?:a|or)|tydzień|tygodni[ea]?)|(?<months>months?|monat(?:en?)?|mois|mes(?:es)?|mes[ei]|mês|месяц(?:а|ев)?|maand(?:en)?|månad(?:er)?|miesi[ąę]c[ey]?|miesięcy)|(?<years>years?|jahr(?:en?)?|ans?|années?|años?|ann[oi]|anos?|год(?:а)?|лет|jaar|år|rok|lat[a]?))";
const KANJI = "〇一二三四五六七八九十两兩";
export const UNSPACED_COUNT = `(?<count>\\d{1,3}|[${KANJI}]{1,4}|한|두|세) ?(?:(?<days>日|天|일)|(?<weeks>週間|周|个星期|個星期|星期|주일?)|(?<months>[かヶケカ箇]月|个月|個月|개월|달)|(?<years>年|년))`;

/** Without the groups. */
export function unnamed(pattern: string): string {
  return pattern.replaceAll(/\?<\w+>/g, "?:");
}
