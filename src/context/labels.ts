import { escapeUnseen } from "../text/unseen.ts";

/**
 * Makes a text of a person, a tool or a server safe for a model: it escapes Weir's labels and invisible characters.
 * Such a text must not gain authority, imitate another speaker, or contain hidden words for the model.
 */
export function escapeLabels(text: string): string {
  const plain = text.replaceAll(LABEL, "\\$&").replaceAll(LINE_HEAD, "\\[");
  // After the escape of invisible characters, a line end within such a token is no white space.
  return escapeUnseen(plain).replaceAll(ROLE, "<\\");
}

/** A text without these escapes, for people. */
export function withoutEscapes(text: string): string {
  return text.replaceAll("\\[", "[").replaceAll("<\\", "<");
}

/** Invisible characters, which may stand within a label. */
const UNSEEN = String.raw`[\p{Cf}\p{Default_Ignorable_Code_Point}]*`;
const GAP = String.raw`[\s\p{Cf}\p{Default_Ignorable_Code_Point}]*`;

/** A pattern for this text, with `0` as any digit, and with invisible characters anywhere. */
function seenAs(text: string): string {
  return Array.from(text, (character) => (character === "0" ? String.raw`\d` : character)).join(UNSEEN);
}

const LABELS = [
  `(?:${seenAs("System")}|${seenAs("Weir")})${GAP}[:\uff1a]`,
  String.raw`${seenAs("Compaction")}(?=${UNSEEN}\s)${GAP}${seenAs("Summary")}`,
  // Roles and tools in the chat templates of Llama and Mistral.
  String.raw`\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]`,
];
/** Weir's labels, anywhere in a text. */
const LABEL = new RegExp(String.raw`\[(?=${GAP}(?:${LABELS.join("|")}))`, "giu");
/** Tokens of ChatML, Llama, Gemma and DeepSeek: on servers that interpret them in texts, anybody could change roles. */
const ROLE = /<(?=[|｜](?:[^|｜<>\s]|\uFEFF){1,40}[|｜]>|\/?(?:s|SYS|bos|eos|(?:start|end)_of_turn)>)/giu;
/** `1. `, `> `: prefixes before the head of a line. */
const BEFORE_HEAD = String.raw`(?:^|[\n\r\v\f\u0085\u2028\u2029])${GAP}(?:(?:\d+[.)]|[>*-])${GAP})*`;
/** A plain space between brackets is a check box, not a head. */
const NO_SPACE = String.raw`(?:[^\S ]|[\p{Cf}\p{Default_Ignorable_Code_Point}])*`;
const HEADS = [
  `${GAP}(?:${seenAs("0000-00-00")}(?:${GAP}${seenAs("00:00")})?|${seenAs("00:00")})${GAP}`,
  String.raw`${NO_SPACE}(?:\+${NO_SPACE})?`,
];
const HEAD = `(?:${HEADS.join("|")})`;
/**
 * The head of a line, in the form of `text/line-head.ts` or as `[2026-11-21]`, after any character that some reader
 * takes for a line break.
 */
const LINE_HEAD = new RegExp(String.raw`(?<=${BEFORE_HEAD})\[(?=${HEAD}\])`, "gu");
