import { isAgreement } from "../../memory/told-as.ts";
import { splitSentences, terms } from "../../text/terms.ts";
import { normalForm } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { namesOneOf } from "./source.ts";

/** Whether an answer is no summary: far too short for its source, or an answer to the people of the chat. Pure. */

/** A source with this many different words has a token of summary for each at least. */
const WORDS_A_TOKEN = 10;
/** No summary has to be longer than this, in tokens. */
const MOST_LEAST = 30;

/** Whether a summary says next to nothing of a source with these words: a stretch of "ok" has hardly a word. */
export function saysTooLittle(text: string, words: ReadonlySet<string>): boolean {
  return estimateTokens(text) < Math.min(MOST_LEAST, Math.floor(words.size / WORDS_A_TOKEN));
}

/** Characters at a text's beginning that are examined. */
const LOOKED_AT = 4000;
/** Share of sentences that speak for the writer or to a reader, from which a text is talk. */
const TALK_SHARE = 0.5;
/** A text that shares more of its words with the source tells of it, in whatever person. */
const SAME_WORDS = 0.6;

const QUOTED = /["“„«「『][^"“”„«»「」『』\n]{0,400}["”“»」』]/gu;
/**
 * The first and the second person, in forms that mean nothing else in another language: "i" and "ma" are Italian articles
 * and conjunctions.
 */
const SPEAKS =
  /(?<![\p{L}\p{M}'-])(?:(?:[Mm]y|[Mm]yself|[Ll]et's|[Yy]ou(?:'\p{L}+)?|[Yy]ours?|[Yy]ourself|[Ii]ch|[Mm]ich|[Mm]ir|[Mm]ein(?:e[nmrs]?)?|[Dd]ich|[Dd]ir|[Dd]ein(?:e[nmrs]?)?|Ihnen|[Jj]e|[Jj]'\p{L}+|[Mm]oi|[Tt]oi|[Vv]ous|[Vv]otre|[Yy]o|[Tt]ú|[Uu]sted(?:es)?|[Ii]o|[Ee]u|[Mm]eu|[Mm]inha|[Vv]ocê|[Ii]k|[Jj]ij|[Jj]ouw|[Яя]|[Мм]не|[Мм]еня|[Тт]ы|[Вв]ам|[Вв]аш\p{L}{0,3})(?![\p{L}\p{M}]))|私(?!たち|達|的|立|人)|僕(?!ら|たち)|俺(?!たち|ら)|あなた|ください|ましょうか|我(?![们們国國])|您|你|저는|제가|나는|내가|당신/u;

/** Words that are another one in another language: the Italian article, and the French "of the". */
const ELSEWHERE: readonly (readonly [speaks: RegExp, other: RegExp])[] = [
  [/(?<![\p{L}\p{M}'-])I(?:'\p{L}+)?(?![\p{L}.)])/u, /(?<!\p{L})(?:il|gli|che|è|della?|sono|non)(?!\p{L})/iu],
  [
    /(?<![\p{L}\p{M}'-])[Dd]u(?![\p{L}\p{M}])/u,
    /(?<!\p{L})(?:les?|la|est|une|dans|pour|que|avec|et)(?!\p{L})/iu,
  ],
];

/** What ends an answer to somebody: an offer. */
const OFFER =
  /(?<!\p{L})(?:let me know|feel free|would you like|do you want me|shall i|happy to help|hope (?:this|that) helps|anything else|lass(?:en sie)? (?:es )?mich wissen|sag(?:en sie)? (?:mir )?(?:einfach )?bescheid|soll ich|möchten sie|kann ich (?:sonst|noch)|n'hésitez? pas|souhaitez-vous|voulez-vous|avísame|¿quieres que|¿te gustaría|fammi sapere|me avise|дайте знать)(?!\p{L})|お知らせください|お申し付け|いかがでしょうか|ましょうか|请告诉我|需要我|还需要/iu;
/** What begins one, beside mere agreement. */
const OPENER =
  /^(?:sure|certainly|of course|absolutely|great (?:question|idea|choice)|good (?:question|idea)|as an? (?:ai|assistant)|no problem|happy to|gerne?|natürlich|na klar|selbstverständlich|bien sûr|claro|por supuesto|certo|конечно|もちろん|承知|かしこまりました|当然|好的|물론)(?!\p{L})/iu;

/** Whether a text speaks to a reader, as an answer in the chat does, instead of telling what others said. @param people who speak in the source */
export function isTalk(text: string, words: ReadonlySet<string>, people: ReadonlySet<string>): boolean {
  const plain = normalForm(text.slice(0, LOOKED_AT), "NFC").replaceAll(/[’‘]/g, "'");
  const sentences = splitSentences(plain.replaceAll(QUOTED, " "));
  const telling = sentences.filter((one) => /\p{L}/u.test(one) && !isAgreement(one));
  const talk = telling.filter((one) => speaks(one) && !namesOneOf(one, people));
  if (talk.length === 0 || talk.length < telling.length * TALK_SHARE) return false;
  const [first = ""] = sentences;
  const isFramed = isAgreement(first) || OPENER.test(first) || OFFER.test(sentences.at(-1) ?? "");
  return isFramed || sharedShare(plain, words) < SAME_WORDS;
}

function speaks(sentence: string): boolean {
  return (
    SPEAKS.test(sentence) ||
    ELSEWHERE.some(([pattern, other]) => pattern.test(sentence) && !other.test(sentence))
  );
}

/** The share of a text's words that the source has. */
function sharedShare(text: string, words: ReadonlySet<string>): number {
  const own = [...new Set(terms(text))].filter((word) => !/\d/.test(word));
  return own.length === 0 ? 1 : own.filter((word) => words.has(word)).length / own.length;
}

/** A text without an offer at its end; one that has nothing else stays. */
export function withoutOffer(text: string): string {
  const lines = text.split("\n");
  const last = lines.at(-1) ?? "";
  const sentences = splitSentences(last);
  const end = sentences.at(-1) ?? "";
  const unquoted = end.replaceAll(QUOTED, " ");
  if (!OFFER.test(unquoted) || !speaks(unquoted) || /["“„«「『]/u.test(unquoted)) return text;
  const rest = [...lines.slice(0, -1), last.slice(0, last.lastIndexOf(end))].join("\n").trimEnd();
  return /[\p{L}\p{N}]/u.test(rest) ? rest : text;
}
