/**
 * Finds questions of people about themselves ("What did I say", "where is my key"): the log and memories have the asker by
 * name. By the most common forms; "tell me", "can I" and the like do not count. Pure.
 */
const OF_SELF: readonly RegExp[] = [
  /\b(?:my|mine|myself)\b|\b(?:did|have|had|was|do|am|were) i\b|\bi(?:'ve|'d| (?:said|told|mentioned|wrote|asked|promised|planned|wanted|had|was|am|do|did|have|like|prefer|live|work|need|want))\b|\b(?:about|of|remember|know) me\b/u,
  /\bmeine?[nmrs]?\b|\b(?:habe?|hatte|wollte|sagte|war|bin|mag|wohne) ich\b|\bich (?:habe?|hatte|wollte|sagte|war|bin|mag|wohne)\b|\b(?:über|von) mi(?:ch|r)\b/u,
  /\b(?:mon|mes)\b|\b(?:ai|suis|avais|étais)-je\b|\bj'(?:ai|avais|étais)\b|\bde moi\b/u,
  /\b(?:mis?|mí)\b (?=\p{L})|\b(?:dije|quería|prometí|he dicho)\b|\bde mí\b/u,
  /(?:私|僕|俺|わたし|ぼく)(?:の|が|は|に)|我的|我(?:说|說|喜欢|喜歡|住|想)|(?:내|나의|제) |나는|저는/u,
];

/**
 * The name of the asker, if the text asks about them; null: it does not, or there are several askers.
 * @param askers names of the people whose text it is
 */
export function asksOfSelf(text: string, askers: readonly string[]): string | null {
  const [name] = askers;
  if (name === undefined || askers.length > 1) return null;
  const said = text.toLowerCase().replaceAll("’", "'");
  return OF_SELF.some((form) => form.test(said)) ? name : null;
}
