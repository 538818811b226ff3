import { COLONS } from "../text/text.ts";
import { escapeUnseen } from "../text/unseen.ts";

/**
 * Makes a text of a person, a tool or a server safe for a model: it escapes Weir's labels and invisible characters.
 * Such a text must not gain authority, imitate another speaker, or contain hidden words for the model.
 */
export function escapeLabels(text: string): string {
  // Most messages have no bracket, and this look costs a tenth of the others.
  const plain = ANY_OPENING.test(text) ? text.replaceAll(LABEL, "\\$&").replaceAll(LINE_HEAD, "$1\\") : text;
  // After the escape of invisible characters, a line end within such a token is no white space.
  return escapeUnseen(plain).replaceAll(ROLE, "<\\");
}

/** A text without these escapes, for people. */
export function withoutEscapes(text: string): string {
  return text.replaceAll(ESCAPED_BRACKET, (escaped: string) => escaped.slice(1)).replaceAll("<\\", "<");
}

/**
 * `[` and what looks like it: all opening marks of Unicode except parentheses, braces and low quotation marks, which
 * ordinary texts begin with.
 */
const OPENING = String.raw`[\p{Ps}--[\(\{\uff08\uff5b\u201a\u201e]]`;
const ANY_OPENING = new RegExp(OPENING, "v");
/** A bracket that {@link escapeLabels} has escaped, as a group: a text that is split by it keeps it. */
export const ESCAPED_BRACKET = new RegExp(String.raw`(\\${OPENING})`, "gv");

/** Invisible characters, which may stand within a label. */
const UNSEEN = String.raw`[\p{Cf}\p{Default_Ignorable_Code_Point}]*`;
const GAP = String.raw`[\s\p{Cf}\p{Default_Ignorable_Code_Point}]*`;

/** A pattern for this text, with invisible characters anywhere. */
function seenAs(text: string): string {
  return Array.from(text).join(UNSEEN);
}

const COLON = `[${COLONS}]`;
const LABELS = [
  `(?:${seenAs("System")}|${seenAs("Weir")})${GAP}${COLON}`,
  String.raw`${seenAs("Compaction")}(?=${UNSEEN}\s)${GAP}${seenAs("Summary")}`,
  // Roles and tools in the chat templates of Llama and Mistral.
  String.raw`\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]`,
];
/** Weir's labels, anywhere in a text. */
const LABEL = new RegExp(String.raw`${OPENING}(?=${GAP}(?:${LABELS.join("|")}))`, "giv");
/** Tokens of ChatML, Llama, Gemma and DeepSeek: on servers that interpret them in texts, anybody could change roles. */
const ROLE = /<(?=[|｜](?:[^|｜<>\s]|\uFEFF){1,40}[|｜]>|\/?(?:s|SYS|bos|eos|(?:start|end)_of_turn)>)/giu;

/** What some reader takes for a line break. */
const LINE_END = String.raw`\n\r\v\f\u0085\u2028\u2029`;
const NO_LETTER = String.raw`[^\p{L}${LINE_END}]*?`;
/**
 * A line's beginning before its head: marks, boxes and numbers of lists and quotations, whichever they are. So it has
 * no word: at most one letter, as in `a)` and `[x]`.
 */
const BEFORE_HEAD = String.raw`(?<=^|[${LINE_END}])${NO_LETTER}(?:\p{L}${NO_LETTER})??`;

/** `0` is a digit of any script, `-` any sign but those between the numbers of a list. */
const TIME_PARTS: Readonly<Record<string, string>> = {
  "0": String.raw`\p{Nd}`,
  "-": String.raw`[^\p{Nd}\p{Ps}\p{Pe}\p{Cf}\p{Default_Ignorable_Code_Point}\s,;"']`,
  ":": COLON,
};
/** What every date with a year and every time of day contains. */
const TIMES = ["0:00", "0000-0-0", "0000-00-0", "0-0-0000", "0-00-0000"].map((form) =>
  Array.from(form, (part) => TIME_PARTS[part]).join(GAP),
);
/** Before a time in its bracket stand no letters; behind it stands anything. */
const TIMED = String.raw`${GAP}[^\p{L}\p{Ps}\p{Pe}"']{0,20}?(?:${TIMES.join("|")})[[^\p{Pe}]--${OPENING}]*`;
/** A plain space between brackets is a check box, not a head. */
const NO_SPACE = String.raw`(?:[^\S ]|[\p{Cf}\p{Default_Ignorable_Code_Point}])*`;
/** Plus signs: those of Unicode's compatible forms, and those that UTS #39 takes for one. */
const PLUS = String.raw`[+\u207a\u208a\u16ed\u2795\ufb29\ufe62\uff0b\u{1029b}]`;
const HEADS = [TIMED, `${NO_SPACE}(?:${PLUS}${NO_SPACE})?`];
/**
 * The head of a line, in the form of `text/line-head.ts` or another that a model would read as one. A bracket that is
 * escaped already stays as it is.
 */
const LINE_HEAD = new RegExp(
  String.raw`(${BEFORE_HEAD})(?<!\\)(?=${OPENING}(?:${HEADS.join("|")})\p{Pe})`,
  "gv",
);
