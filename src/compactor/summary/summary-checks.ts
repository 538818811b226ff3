import { ESCAPED_BRACKET, escapeLabels } from "../../context/labels.ts";
import { normalForm, storableText } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { ModelAnswer } from "../../llm/model.ts";

export const REJECTION_KINDS = [
  "empty",
  "cut_off",
  "refusal",
  "talk",
  "too_little",
  "over_cap",
  "inflated",
  "calls_spent",
] as const;

/** Why a summary must not be committed. */
export interface SummaryRejection {
  readonly kind: (typeof REJECTION_KINDS)[number];
  /** For the log: it contains nothing of the text. */
  readonly why: string;
  /** Of a text that is too long: how many times as long as the longest that is accepted. */
  readonly timesTooLong?: number;
}

export interface SummaryLimits {
  /** Longest summary, estimated tokens. */
  readonly capTokens: number;
  readonly sourceTokens: number;
  /** The sources are summaries. */
  readonly isDense?: boolean;
}

/** Share of its source that a summary may take. */
const MAX_RATIO = 0.7;
/**
 * The same for sources that are summaries, of which four fifths are asked for. Models overshoot, and a merge that is refused for that again and
 * again holds up all that comes behind it. Its cap lets it shrink where there is no room.
 */
const MAX_DENSE_RATIO = 1;

/** Most tokens that a summary of this source may have, beside its cap. */
export function mostOf({
  sourceTokens,
  isDense = false,
}: Pick<SummaryLimits, "sourceTokens" | "isDense">): number {
  return sourceTokens * (isDense ? MAX_DENSE_RATIO : MAX_RATIO);
}

/** A heading of Markdown announces a summary, and tells nothing of it. */
const HEADING = /^ {0,3}#{1,6} .*$/gm;

/** @returns null: the summary may be committed */
export function rejectionOf(
  answer: Pick<ModelAnswer, "text" | "finish">,
  { capTokens, sourceTokens, isDense = false }: SummaryLimits,
): SummaryRejection | null {
  const { text, finish } = answer;
  if (finish === "filtered") return { kind: "cut_off", why: "the provider's filter ended it" };
  if (!/[\p{L}\p{N}]/u.test(text.replaceAll(HEADING, ""))) return { kind: "empty", why: "it says nothing" };
  if (finish === "length") return { kind: "cut_off", why: "it was cut off at the longest answer" };
  if (isRefusal(text)) return { kind: "refusal", why: "the model declined" };
  const tokens = estimateTokens(text);
  if (tokens > capTokens) {
    const why = `it has ${tokens} tokens, its cap is ${capTokens}`;
    return { kind: "over_cap", why, timesTooLong: tokens / capTokens };
  }
  const most = mostOf({ sourceTokens, isDense });
  if (tokens > most) {
    const why = `it has ${tokens} tokens, what it summarises has ${sourceTokens}`;
    return { kind: "inflated", why, timesTooLong: tokens / most };
  }
  return null;
}

/** A model that declines does so in a few sentences; a longer text has something to say. */
const LONGEST_REFUSAL_TOKENS = 150;

/** The requested tasks, as the verb after "I cannot". */
const TASK =
  "(?:help|assist|summari[sz]e|compl[yi]|provide|fulfil|create|generate|continue|do (?:that|this)|process|write|produce|engage|discuss|share|answer|support|access|see|view|read)";
const CANNOT =
  "(?:can(?:'t|not| not)|could(?:n't| not)|won't|will not|(?:'m| am) (?:unable|not able|not allowed)|must decline|have to decline|do(?:n't| not) (?:have|feel))";

/** Beginnings of texts in which a model declines; each is anchored. */
const REFUSALS: readonly RegExp[] = [
  /^(?:i'm|i am) (?:\w+ )?(?:sorry|afraid)\b/i,
  new RegExp(`^(?:sorry|(?:my )?apologies|i apologi[sz]e|unfortunately)\\b.{0,40}\\bi ?${CANNOT}`, "i"),
  new RegExp(`^i ?${CANNOT}\\b.{0,30}\\b${TASK}`, "i"),
  /^as an? (?:ai|artificial intelligence|(?:large )?language model)\b[^.]{0,60}\bi\b/i,
  /^(?:es )?tut mir (?:\p{L}+ )?leid/iu,
  /^(?:leider )?(?:kann|darf) ich\b.{0,120}\bnicht\b/i,
  /^ich (?:kann|darf) (?:leider )?.{0,80}\bnicht\b.{0,30}(?:helfen|zusammenfassen|erstellen|antworten|beantworten)/i,
  /^als (?:ki|künstliche intelligenz|(?:großes )?sprachmodell)\b[^.]{0,60}\bich\b/iu,
  /^(?:je suis )?(?:\p{L}+ )?désolée?(?![\p{L}])/iu,
  /^(?:malheureusement,? )?je (?:ne peux pas|ne suis pas en mesure|ne suis pas capable|regrette)/i,
  /^en tant (?:qu'|que )(?:ia|intelligence artificielle|assistant|modèle)/iu,
  /^(?:lo siento|lo lamento|lamento|disculp[ae])/i,
  /^(?:lamentablemente,? )?no (?:puedo|me es posible) .{0,20}(?:ayudar|resumir|hacer|proporcionar|cumplir|generar|crear|continuar)/i,
  /^como (?:una? )?(?:ia|inteligencia artificial|modelo de lenguaje)(?![\p{L}])/iu,
  /^(?:大変)?(?:申し訳|すみません|ごめんなさい|恐れ入りますが)/,
  /^(?:私は)?(?:ai|人工知能|言語モデル)(?:として|アシスタント|です|なので)/i,
  /^(?:この|その|ご)?(?:要約|お手伝い|対応|回答|リクエスト).{0,12}(?:できません|いたしかねます|致しかねます)/,
  /^(?:很|非常|十分|实在)?(?:抱歉|对不起|對不起|不好意思)/,
  /^(?:很遗憾[,,]?)?我?(?:无法|無法|不能|不可以).{0,12}(?:帮助|协助|总结|摘要|提供|满足|完成|回答|生成|幫助|協助|總結|滿足)/,
  /^(?:作为|作為|身为)(?:一[个個名])?(?:ai|人工智能|人工智慧|(?:大型|大)?语言模型|語言模型)/i,
];

/** Whether a text is short and begins as a refusal. A summary may report that somebody refused. */
function isRefusal(text: string): boolean {
  const plain = normalForm(text, "NFC")
    .replaceAll("\u2019", "'")
    .replace(/^[\s\p{P}\p{S}]+/u, "")
    .replace(/^(?:compaction )?summary\b[\s\p{P}\p{S}]*/iu, "")
    .replaceAll(/\s+/g, " ");
  if (!REFUSALS.some((pattern) => pattern.test(plain))) return false;
  return estimateTokens(plain) <= LONGEST_REFUSAL_TOKENS;
}

const FENCED = /^```[\w-]*\n([\s\S]*?)\n?```$/;
const TAGGED = /^<summary>([\s\S]*?)<\/summary>$/i;
/** Models often put this before a summary: the label of the summaries that they read, or a heading. */
const ECHO =
  /^(?:\\?\[(?:compaction )?summary\]\s*:?|[#*_>\s]*(?:compaction )?summary[*_ ]*:[*_]*|#+ *(?:compaction )?summary *(?:\n|$)|here (?:is|'s) (?:the|a|my) (?:\w+ )?summary[^\n:]{0,40}:)\s*/i;

/** The times and the message count that follow that label. */
const SPAN_ECHO =
  /^\(\d{4}-\d\d-\d\d(?: \d\d:\d\d)?(?: – [\d :-]{5,16})?, [\d,]+ messages?(?: from #\d+)?\)\s*/;

/** Most layers of fences, tags and labels that are removed: each layer costs a pass over the whole text. */
const MOST_PEELINGS = 16;

/** A model's summary as it is stored: without fences, tags and headings around it, and with Weir's own labels escaped. */
export function cleanSummary(text: string): string {
  let rest = storableText(text).replaceAll("\r\n", "\n").trim();
  for (let peelings = 0; peelings < MOST_PEELINGS; peelings++) {
    const before = rest;
    rest = (FENCED.exec(rest)?.[1] ?? TAGGED.exec(rest)?.[1] ?? rest).trim();
    rest = rest.replace(ECHO, "").replace(SPAN_ECHO, "").trim();
    if (rest === before) break;
  }
  return escapeOnce(rest);
}

/**
 * A label that a model repeats must not gain authority in the next prompt, and a line that it quotes must not pass for
 * a message. An escaped label stays as it is, or each merge would add a backslash.
 */
function escapeOnce(text: string): string {
  // A word before the piece keeps `escapeLabels` from taking it for the head of a line.
  const escapeRest = (piece: string): string => escapeLabels(`word${piece}`).slice("word".length);
  const inLine = (line: string): string =>
    line
      .split(ESCAPED_BRACKET)
      .map((piece, index) =>
        index === 0 ? escapeLabels(piece) : index % 2 === 0 ? escapeRest(piece) : piece,
      )
      .join("");
  return text.split("\n").map(inLine).join("\n");
}
