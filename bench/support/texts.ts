import { globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { createRandom } from "./conversation.ts";
import { readMessages } from "./recordings.ts";

export interface Texts {
  readonly kind: string;
  readonly text: string;
}

const ROOT = path.join(import.meta.dirname, "../..");
/** Longest text of a kind with megabytes available. */
const LONGEST = 800_000;

/** Kinds, by the languages of their messages and names. */
const LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  Chinese: ["zh-CN", "zh-TW"],
  Japanese: ["ja"],
  Korean: ["ko"],
  Arabic: ["ar"],
  Hindi: ["hi"],
  Thai: ["th"],
  Russian: ["ru"],
  "Finnish, Polish, Czech": ["fi", "pl", "cs"],
};

/** All kinds of text in this repository, its packages and Node itself. */
export function textsHere(): Texts[] {
  const random = createRandom(19);
  const english = filesOf(["README.md", "docs/*.md", "node_modules/{*,@*/*}/README.md"]);
  const code = filesOf(["src/**/*.ts", "migrations/**/*.sql", "node_modules/{hono,openai,knip}/dist/*.js"]);
  const json = filesOf(["node_modules/mime-db/db.json", "node_modules/{*,@*/*}/package.json"]);
  const languages = Object.entries(LANGUAGES);
  return [
    { kind: "English", text: english },
    { kind: "code", text: code },
    { kind: "JSON", text: json },
    { kind: "lock file", text: readFileSync(path.join(ROOT, "package-lock.json"), "utf8") },
    ...languages.map(([kind, tags]) => ({
      kind,
      text: tags.map((tag) => sentences(tag, random)).join("\n"),
    })),
    { kind: "emoji", text: emoji(random) },
    { kind: "base64", text: encoded("base64", random) },
    { kind: "hexadecimal", text: encoded("hex", random) },
  ];
}

/** Names of countries and languages in a row: no natural text, and a language's rarest words. */
export function namesHere(): Texts {
  return { kind: "names", text: Object.values(LANGUAGES).flat().map(names).join("\n") };
}

/** The weights were fitted to it, among others, so it is no evidence. */
const FITTED = "channel-irc-other.messages.jsonl";

/** The recorded conversations of a folder, each a separate kind. */
export function recordedTexts(folder: string): Texts[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".messages.jsonl") && file !== FITTED);
  return files.map((file) => {
    const name = path.basename(file, ".messages.jsonl");
    const text = readMessages(folder, name).map((message) => message.text);
    return { kind: name, text: text.join("\n").slice(0, LONGEST) };
  });
}

function filesOf(patterns: readonly string[]): string {
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT }).toSorted());
  return files
    .map((file) => readFileSync(path.join(ROOT, file), "utf8"))
    .join("\n")
    .slice(0, LONGEST);
}

/** Zod's messages about bad input in a language, with dates, durations and amounts in a person's form. */
function sentences(tag: string, random: () => number): string {
  const [file] = globSync(`node_modules/zod/v4/locales/${tag}.js`, { cwd: ROOT });
  const source = file === undefined ? "" : readFileSync(path.join(ROOT, file), "utf8");
  const said = [...source.matchAll(/"([^"\n]*[^ -~][^"\n]*)"|`([^`\n]+)`/g)].map(([, plain, template]) =>
    (plain ?? template ?? "").replaceAll(/\$\{[^}]*\}/g, () => String(Math.floor(random() * 100))),
  );
  const date = new Intl.DateTimeFormat(tag, { dateStyle: "full", timeStyle: "long", timeZone: "UTC" });
  const ago = new Intl.RelativeTimeFormat(tag);
  const list = new Intl.ListFormat(tag);
  const amounts = ["kilometer", "liter", "minute", "megabyte", "degree"].map(
    (unit) => new Intl.NumberFormat(tag, { style: "unit", unit, unitDisplay: "long" }),
  );
  const spans = ["day", "week", "month", "hour", "minute", "year"] as const;
  const dated = Array.from({ length: 40 }, (_, index) => {
    const number = Math.floor(random() * 500);
    const day = date.format(1e12 + index * 9.7e9);
    const span = ago.format(number - 250, spans[index % spans.length] ?? "day");
    return `${day}, ${span}: ${list.format(amounts.map((amount) => amount.format(number)))}`;
  });
  return [...said, ...dated].map((line) => `${line}.`).join("\n");
}

function names(tag: string): string {
  const list = new Intl.ListFormat(tag);
  const letters = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  const known = (["region", "language"] as const).flatMap((type) => {
    const display = new Intl.DisplayNames(tag, { type, fallback: "none" });
    return codes.flatMap((code) => display.of(type === "region" ? code : code.toLowerCase()) ?? []);
  });
  return Array.from({ length: Math.ceil(known.length / 4) }, (_, row) =>
    list.format(known.slice(row * 4, row * 4 + 4)),
  ).join("\n");
}

const LIKED = [...new Intl.Segmenter("en").segment("😂❤️😍🤣😊🙏💕😭👍😅👏😁🔥💔🎉👋🏽👩‍💻🏳️‍🌈🇩🇪✅🚀👀💯")];

/** Alternately a popular emoji, with a word now and then, and any existing one. */
function emoji(random: () => number): string {
  const liked = (): string => LIKED[Math.floor(random() * LIKED.length)]?.segment ?? "";
  const any = (): string => String.fromCodePoint(0x1f300 + Math.floor(random() * 0x350));
  return Array.from({ length: 12_000 }, () => liked() + (random() < 0.2 ? " ok " : "") + any())
    .join("")
    .replaceAll(/[^\p{Emoji}\p{Emoji_Component}ok ]/gu, "");
}

/** In one run, in lines as in a mail, and in pieces of a hash's length. */
function encoded(as: "base64" | "hex", random: () => number): string {
  const bytes = (length: number): string =>
    Buffer.from(Array.from({ length }, () => Math.floor(random() * 256))).toString(as);
  const lines = Array.from({ length: 700 }, () => bytes(57));
  const hashes = Array.from({ length: 1500 }, () => bytes(20));
  return [bytes(30_000), lines.join("\n"), hashes.join(" ")].join("\n");
}
