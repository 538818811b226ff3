import { namedTimes } from "./named-times.ts";
import { wantedBy } from "./recall-worth.ts";

/**
 * Finds questions about what was before, or about a change ("where did Ann live", "has it changed", "does she still"), by their most
 * common words. Pure.
 */
const OF_PAST: readonly RegExp[] = [
  /\b(?:was|were|did|had|used to|before|previous(?:ly)?|former(?:ly)?|earlier|original(?:ly)?|at first|until|back then|ago|yesterday|last (?:week|month|year|spring|summer|autumn|fall|winter)|chang(?:e|es|ed|ing)|switch(?:ed)?|moved|instead|no longer|any ?more|still|since when|so far)\b/iu,
  /(?<!\p{L})(?:waren|warst|war|hatten?|wurden?|früher|vorher|zuvor|damals|ehemals|ehemalige[nrsm]?|bisherige[nrsm]?|bisher|bis wann|seit wann|gestern|geändert|gewechselt|umgezogen|verschoben|nicht mehr|noch immer|immer noch|letzte[nrsm]? (?:woche|monat|jahr))(?!\p{L})/iu,
  /(?<!\p{L})(?:avant|auparavant|était|étaient|avait|avaient|autrefois|depuis quand|changé|déménagé|toujours)(?!\p{L})/iu,
  /(?<!\p{L})(?:antes|eran?|estaban?|había|anteriormente|desde cuándo|cambi(?:ó|ado)|mudado|ya no|todavía)(?!\p{L})/iu,
  /(?<!\p{L})(?:раньше|прежде|был|была|было|были|изменил(?:ось|ся|ась|ись)|переехал|переехала|больше не|до сих пор)(?!\p{L})/iu,
  /以前|前は|前の|昔|かつて|もともと|元々|変わ|変更|でした|だった|ましたか|引っ越|まだ|之前|原来|原來|过去|過去|曾经|曾經|变了|變了|改变|改變|전에|예전|원래|바뀌|변경|이사/u,
];

/** @param today the ISO day on which it is asked */
export function asksForPast(text: string, today: string): boolean {
  if (wantedBy(text) === "told") return false;
  return OF_PAST.some((asks) => asks.test(text)) || namedTimes(text, today).some(({ to }) => to < today);
}
