import { Random } from "../../fuzz/random.ts";

export type Style = "strong" | "em" | "strike" | "code";

/** One visible character, with its emphasis. */
export interface Shown {
  readonly character: string;
  readonly styles: ReadonlySet<Style>;
}

/** A text as an agent writes it, and what people should see. Lists and quotes are compared without their signs. */
export interface StyledText {
  readonly markdown: string;
  readonly shown: readonly Shown[];
}

const NONE: ReadonlySet<Style> = new Set();

/** Words without a mark; they may touch emphasis. */
const WORDS = [
  "word",
  "これは",
  "です",
  "「",
  "」",
  "un",
  "able",
  "é",
  "100%",
  "(",
  ")",
  "🎉",
  "don't",
  "한국",
  "x",
  "7",
  "क्या",
];
/** Words with characters that could be marks and are none. They stand alone. */
const TRICKY = [
  "5*x,",
  "3*y",
  "2 * 3 * 4",
  "snake_case_name",
  "a__b__c",
  "(~2000 lines)",
  "(~5000 lines)",
  "~5",
  "a || b || c",
  "a & b",
  "<tag>",
  "x > 1",
  "&lt;",
  "*.ts",
  "f(*args)",
  "C:\\temp",
  "_",
  "*",
];
/** As an agent escapes marks, and what people should see. */
const ESCAPED = [
  [String.raw`\*not\*`, "*not*"],
  [String.raw`\_not\_`, "_not_"],
  [String.raw`\~\~not\~\~`, "~~not~~"],
  [String.raw`\*\*not\*\*`, "**not**"],
  [String.raw`a\*b`, "a*b"],
  ["\\`not\\`", "`not`"],
] as const;
const INNER = [
  "bold",
  "two words",
  "重要",
  "斜体 です",
  "a & b",
  "x < y",
  "7",
  "「はい」",
  "(so)",
  "é",
  "snake_case",
];
const CODE = ["a < b", "**not**", "snake_case", "x*y*z", "~a~", "_", "C:\\temp", "a && b", "重要"];

type Kind = "word" | "tricky" | "escaped" | Style | "both" | "link" | "underscored";
const KINDS: readonly Kind[] = [
  "word",
  "word",
  "word",
  "word",
  "tricky",
  "escaped",
  "strong",
  "strong",
  "em",
  "underscored",
  "strike",
  "code",
  "both",
  "link",
];

interface Token {
  readonly markdown: string;
  readonly text: string;
  readonly styles: ReadonlySet<Style>;
  readonly kind: Kind;
}

function token(random: Random): Token {
  const kind = random.pick(KINDS);
  const inner = random.pick(INNER);
  const of = (markdown: string, text: string, ...styles: Style[]): Token => ({
    markdown,
    text,
    styles: new Set(styles),
    kind,
  });
  switch (kind) {
    case "word": {
      const word = random.pick(WORDS);
      return of(word, word);
    }
    case "tricky": {
      const words = random.pick(TRICKY);
      return of(words, words);
    }
    case "escaped":
      return escapedToken(random);
    case "strong":
      return of(`**${inner}**`, inner, "strong");
    case "em":
      return of(`*${inner}*`, inner, "em");
    case "underscored":
      return of(`_${inner.replaceAll("_", " ")}_`, inner.replaceAll("_", " "), "em");
    case "strike":
      return of(`~~${inner}~~`, inner, "strike");
    case "both":
      return of(`***${inner}***`, inner, "strong", "em");
    case "code": {
      const code = random.pick(CODE);
      return of(`\`${code}\``, code, "code");
    }
    case "link":
      return of("[the page](https://a.test/x_y_z?a=1&b=2)", "the page");
  }
}

function escapedToken(random: Random): Token {
  const [markdown, text] = random.pick(ESCAPED);
  return { markdown, text, styles: NONE, kind: "escaped" };
}

/** Emphasis that may stand within a word. */
const INSIDE: ReadonlySet<Kind> = new Set(["word", "strong", "strike", "code"]);

/** Whether a space must part two tokens, so that Markdown itself is clear. */
function mustPart(before: Token, next: Token): boolean {
  if (before.kind !== "word" && next.kind !== "word") return true;
  if (INSIDE.has(before.kind) && INSIDE.has(next.kind)) return false;
  const word = before.kind === "word" ? before : next;
  const other = before.kind === "word" ? next : before;
  // An asterisk beside an ASCII letter multiplies; an underscore is part of a word.
  const isAsterisk = other.kind === "em" || other.kind === "both";
  return !(isAsterisk && !/[a-z0-9]/i.test(word.text) && /^[^\s]$/u.test(word.text)) || other.kind === "both";
}

function line(random: Random): StyledText {
  const tokens = Array.from({ length: random.int(1, 9) }, () => token(random));
  // With an asterisk that could begin emphasis, whatever ends with one must be clear.
  const opens = tokens.some(({ kind, markdown: one }) => kind === "tricky" && /(?:^|\()\*\S/.test(one));
  let markdown = "";
  const shown: Shown[] = [];
  const say = (text: string, styles: ReadonlySet<Style>): void => {
    for (const character of text) shown.push({ character, styles });
  };
  for (const [index, one] of tokens.entries()) {
    const before = tokens[index - 1];
    const isTouching = before !== undefined && !opens && !mustPart(before, one) && !random.chance(0.5);
    if (before !== undefined && !isTouching) {
      markdown += " ";
      say(" ", NONE);
    }
    markdown += one.markdown;
    say(one.text, one.styles);
  }
  // At a line's beginning these would be a list, a quote or a table.
  if (/^(?:[*_+-] |[*_]$|>|\||\d+[.)] |[*] )/.test(markdown) || /^\*\.|^_ |^<|^\* /.test(markdown)) {
    markdown = `so ${markdown}`;
    shown.unshift(..."so ".split("").map((character) => ({ character, styles: NONE })));
  }
  return { markdown, shown };
}

function block(random: Random): StyledText {
  const form = random.pick(["", "", "", "- ", "> ", "fence"]);
  if (form !== "fence") {
    const { markdown, shown } = line(random);
    return { markdown: form + markdown, shown };
  }
  const code = random.pick(CODE);
  const styles: ReadonlySet<Style> = new Set(["code"]);
  return {
    markdown: `\`\`\`\n${code}\n\`\`\``,
    shown: Array.from(code, (character) => ({ character, styles })),
  };
}

/** A text of some lines; the same seed gives the same text. */
export function styledText(seed: number): StyledText {
  const random = new Random(seed);
  const blocks = Array.from({ length: random.int(1, 4) }, () => block(random));
  return {
    markdown: blocks.map(({ markdown }) => markdown).join("\n"),
    shown: blocks.flatMap(({ shown }, index) => [
      ...(index === 0 ? [] : [{ character: "\n", styles: NONE }]),
      ...shown,
    ]),
  };
}

/** Characters that stand for others where a platform knows no escape for these. */
const LOOK_ALIKES: Readonly<Record<string, string>> = { "∼": "~", "∗": "*", ˍ: "_", ˋ: "`" };

/** What is seen, as lines of `text|styles`, so that two of them can be compared. */
export function asSeen(shown: readonly Shown[]): string {
  const runs: { text: string; styles: string }[] = [];
  for (const { character, styles } of shown) {
    if (character === "\u200B") continue;
    const seen = LOOK_ALIKES[character] ?? character;
    // Nobody sees the emphasis of a space.
    const isBlank = /^\s$/.test(seen);
    const names = [...styles].toSorted().join("+");
    const last = runs.at(-1);
    if (last !== undefined && (last.styles === names || (isBlank && seen !== "\n"))) last.text += seen;
    else runs.push({ text: seen, styles: names });
  }
  return runs.map(({ text, styles }) => (styles === "" ? text : `‹${styles}:${text}›`)).join("");
}
