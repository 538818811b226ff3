/**
 * Invisible characters, and those that change where others are seen. With them, a person would approve what they cannot
 * read, and a model would read what no person has seen. Escaped as `\u{202E}`, they are visible to both. Defined by
 * Unicode's properties, so that later characters are included. Pure.
 */

/** Format characters with a visible shape: Arabic signs for numbers and verses. */
const FORMAT_SEEN = String.raw`[\p{Cf}--\p{Default_Ignorable_Code_Point}--[\ufff9-\ufffb]]`;

/**
 * Controls except tabs and line breaks, format characters (direction, tags, joiners), line and paragraph separators,
 * private and unassigned characters, halves of pairs, fillers, selectors, and the blank pattern of Braille. Places for
 * future emoji count as assigned.
 */
const HIDDEN = String.raw`[[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]--[\t\n\r]--${FORMAT_SEEN}--[\p{Cn}&&\p{Extended_Pictographic}]]`;

/** Most marks on one letter, more than any language uses: UTS #39 counts four, and Hebrew with cantillation has five. */
const MOST_MARKS = 6;

const LETTER = String.raw`[[\p{L}\p{M}]--\p{Default_Ignorable_Code_Point}]`;
/** Scripts whose letters change their shape when joined, so that their writers use joiners; and those with a virama. */
const VIRAMA_SCRIPTS = "Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr".split(" ");
const JOINING_SCRIPTS = ["Arab", "Syrc", "Mong", "Nkoo", "Mand", "Phag", "Adlm", "Rohg", ...VIRAMA_SCRIPTS];
const JOINING = lettersOf(JOINING_SCRIPTS);
const RIGHT_TO_LEFT = lettersOf(["Hebr", "Arab", "Syrc", "Thaa", "Nkoo", "Samr", "Mand", "Adlm", "Rohg"]);
/** Neutral characters between a mark of direction and its letter. */
const NEUTRAL = String.raw`[\p{P}\p{S}\p{N}\p{Zs}]{0,3}`;
const PICTURE = String.raw`\p{Extended_Pictographic}`;

function lettersOf(scripts: readonly string[]): string {
  return `[${LETTER}&&[${scripts.map((script) => String.raw`\p{scx=${script}}`).join("")}]]`;
}

/** A run of characters that is legitimate between certain neighbours. */
interface Genuine {
  readonly run: RegExp;
  readonly before: RegExp;
  readonly behind: RegExp;
}

function genuine(run: string, before = "", behind = ""): Genuine {
  return {
    run: new RegExp(`^(?:${run})$`, "v"),
    before: new RegExp(`${before}$`, "v"),
    behind: new RegExp(`^${behind}`, "v"),
  };
}

/** Units around a run that are examined: a letter, its mark, and neutral characters. */
const LOOKED_AT = 8;

const GENUINE: readonly Genuine[] = [
  // Joiners in a word, and after a virama at its end.
  genuine(String.raw`[\u200c\u200d]`, JOINING, JOINING),
  genuine(String.raw`[\u200c\u200d]`, String.raw`[\p{M}&&${lettersOf(VIRAMA_SCRIPTS)}]`),
  // Emoji of several parts, presentation of emoji, keys, and flags of regions.
  genuine(String.raw`\ufe0f?\u200d`, String.raw`${PICTURE}\p{Emoji_Modifier}?`, PICTURE),
  genuine(String.raw`[\ufe0e\ufe0f]`, PICTURE),
  genuine(String.raw`\ufe0f`, "[0-9#*]", String.raw`\u20e3`),
  genuine(["gbeng", "gbsct", "gbwls"].map(tagsOf).join("|"), String.raw`\u{1f3f4}`),
  // Variants of a Chinese character, and of a Mongolian letter.
  genuine(String.raw`[\ufe00-\ufe02\u{e0100}-\u{e01ef}]`, String.raw`\p{sc=Han}`),
  genuine(String.raw`[\u180b-\u180f]`, String.raw`[\p{sc=Mong}&&\p{L}]`),
  // Marks of direction beside right-to-left letters.
  genuine(String.raw`[\u200e\u200f\u061c]`, RIGHT_TO_LEFT + NEUTRAL),
  genuine(String.raw`[\u200e\u200f\u061c]`, "", NEUTRAL + RIGHT_TO_LEFT),
  // Soft hyphens, and joiners that keep marks from being sorted.
  genuine(String.raw`\u00ad`, String.raw`\p{L}\p{M}?`, String.raw`\p{L}`),
  genuine(String.raw`\u034f`, LETTER, String.raw`[\p{M}--\p{Default_Ignorable_Code_Point}]`),
  // Old Korean syllables without a first or a middle letter.
  genuine(String.raw`\u115f`, "", String.raw`[\u1161-\u11a7]`),
  genuine(String.raw`\u1160`, String.raw`[\u1100-\u115e]`, String.raw`[\u11a8-\u11ff]`),
  // Pictures in Braille.
  genuine(String.raw`\u2800+`, String.raw`[\u2801-\u28ff]`),
  genuine(String.raw`\u2800+`, "", String.raw`[\u2801-\u28ff]`),
];

/** The possible kinds of a run, cached: a text has few different runs. */
const MAY_BE = new Map<string, readonly Genuine[]>();
const MOST_KEPT = 1000;

function mayBe(run: string): readonly Genuine[] {
  const known = MAY_BE.get(run);
  if (known !== undefined) return known;
  const found = GENUINE.filter((one) => one.run.test(run));
  if (run.length <= 4 && MAY_BE.size < MOST_KEPT) MAY_BE.set(run, found);
  return found;
}

/** Whether a run is legitimate between its neighbours. A byte order mark is legitimate at the beginning of a text. */
function isGenuine(text: string, from: number, to: number): boolean {
  const run = text.slice(from, to);
  if (run === "\ufeff") return from === 0;
  return mayBe(run).some(
    ({ before, behind }) =>
      before.test(text.slice(Math.max(0, from - LOOKED_AT), from)) &&
      behind.test(text.slice(to, to + LOOKED_AT)),
  );
}

/** The tag characters for this code, with their end mark. */
function tagsOf(letters: string): string {
  return `${Array.from(letters, (letter) => `\\u{e00${letter.charCodeAt(0).toString(16)}}`).join("")}\\u{e007f}`;
}

/** Characters of an illegitimate run that are written out for a model; the rest is a number. */
const MOST_WRITTEN = 8;

/**
 * A text for a model with its invisible characters escaped and bounded. What a language or an emoji needs stays:
 * joiners in Persian and Hindi, marks of direction beside Hebrew, soft hyphens, selectors of emoji.
 */
export function escapeUnseen(text: string): string {
  return replaceUnseen(text, (run) => {
    const characters = Array.from(run);
    const rest = characters.length - MOST_WRITTEN;
    const written = characters.slice(0, MOST_WRITTEN).map(escaped).join("");
    return rest > 0 ? `${written}(and ${rest} more that nobody sees)` : written;
  });
}

/** Replaces each illegitimate run of invisible characters, and of marks beyond any language's use. */
export function replaceUnseen(text: string, replace: (run: string) => string): string {
  // Nearly all texts.
  if (PLAIN.test(text)) return text;
  let replaced = "";
  let kept = 0;
  let marks = 0;
  for (let at = 0; at < text.length;) {
    const kind = kindAt(text, at);
    marks = kind === "mark" ? marks + 1 : kind === "hidden" ? marks : 0;
    const isFlood = kind === "mark" && marks > MOST_MARKS;
    if (kind !== "hidden" && !isFlood) {
      at += unitsAt(text, at);
      continue;
    }
    let end = at;
    while (end < text.length && kindAt(text, end) === kind) end += unitsAt(text, end);
    if (isFlood || !isGenuine(text, at, end)) {
      replaced += text.slice(kept, at) + replace(text.slice(at, end));
      kept = end;
    }
    at = end;
  }
  return replaced + text.slice(kept);
}

/** A text without its invisible characters: for a reader, a word with one inside is the same word. */
export function withoutUnseen(text: string): string {
  return text.replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, "");
}

/** `\u{202E}` */
export function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

// oxlint-disable-next-line no-control-regex -- control characters are no plain text
const PLAIN = /^[\t\n\r\u0020-\u007e\u00a0-\u00ac\u00ae-\u02ff]*$/;

const ONE_HIDDEN = new RegExp(`^${HIDDEN}$`, "v");
const ONE_MARK = /^[[\p{Mn}\p{Me}]--\p{Default_Ignorable_Code_Point}]$/v;

const KINDS = ["unknown", "plain", "hidden", "mark"] as const;
/** The kind of each character, cached: looking up a property takes a hundred times as long. */
const KNOWN = new Uint8Array(0x11_00_00);

function kindAt(text: string, at: number): (typeof KINDS)[number] {
  const code = text.codePointAt(at) ?? 0;
  const known = KINDS[KNOWN[code] ?? 0];
  if (known !== undefined && known !== "unknown") return known;
  const character = String.fromCodePoint(code);
  const kind = ONE_HIDDEN.test(character) ? "hidden" : ONE_MARK.test(character) ? "mark" : "plain";
  KNOWN[code] = KINDS.indexOf(kind);
  return kind;
}

function unitsAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
