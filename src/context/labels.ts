import { escapeUnseen } from "../text/unseen.ts";

/**
 * A text of a person, a tool or a server, as a model reads it. What looks like Weir's own labels loses that look, and what nobody sees is
 * escaped: such a text must not gain authority, speak as somebody else, or say to the model what it says to nobody else.
 */
export function escapeLabels(text: string): string {
  const plain = text.replaceAll(LABEL, "\\$&").replaceAll(LINE_HEAD, "\\[");
  // Escaped, a line end within such a word is no white space any more.
  return escapeUnseen(plain).replaceAll(ROLE, "<\\");
}

/** A text in which labels were escaped, as people read it. */
export function withoutEscapes(text: string): string {
  return text.replaceAll("\\[", "[").replaceAll("<\\", "<");
}

/** Characters that nobody sees: they hide nothing. */
const UNSEEN = String.raw`[\p{Cf}\p{Default_Ignorable_Code_Point}]*`;
const GAP = String.raw`[\s\p{Cf}\p{Default_Ignorable_Code_Point}]*`;

/** A pattern for this text, `0` being any digit, with anything unseen between its characters. */
function seenAs(text: string): string {
  return Array.from(text, (character) => (character === "0" ? String.raw`\d` : character)).join(UNSEEN);
}

const LABELS = [
  `(?:${seenAs("System")}|${seenAs("Weir")})${GAP}[:\uff1a]`,
  String.raw`${seenAs("Compaction")}(?=${UNSEEN}\s)${GAP}${seenAs("Summary")}`,
  // Roles and tools in the chat templates of Llama and Mistral.
  String.raw`\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]`,
];
/** Weir's labels, wherever they stand. */
const LABEL = new RegExp(String.raw`\[(?=${GAP}(?:${LABELS.join("|")}))`, "giu");
/** Of ChatML, Llama, Gemma, DeepSeek: servers that read them in a text as what they are would let anybody change roles. */
const ROLE = /<(?=[|｜](?:[^|｜<>\s]|\uFEFF){1,40}[|｜]>|\/?(?:s|SYS|bos|eos|(?:start|end)_of_turn)>)/giu;
/** `1. `, `> `: what may stand before the head of a line. */
const BEFORE_HEAD = String.raw`(?:^|[\n\r\v\f\u0085\u2028\u2029])${GAP}(?:(?:\d+[.)]|[>*-])${GAP})*`;
/** A plain space between brackets is a box to tick, and no head. */
const NO_SPACE = String.raw`(?:[^\S ]|[\p{Cf}\p{Default_Ignorable_Code_Point}])*`;
const HEADS = [
  `${GAP}(?:${seenAs("0000-00-00")}(?:${GAP}${seenAs("00:00")})?|${seenAs("00:00")})${GAP}`,
  String.raw`${NO_SPACE}(?:\+${NO_SPACE})?`,
];
const HEAD = `(?:${HEADS.join("|")})`;
/**
 * The head of a line, as `text/line-head.ts` writes it, or `[2026-11-21]`, at the beginning of what some reader takes for a line.
 */
const LINE_HEAD = new RegExp(String.raw`(?<=${BEFORE_HEAD})\[(?=${HEAD}\])`, "gu");
