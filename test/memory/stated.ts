import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Entry } from "../../src/core/entry.ts";
import type { MemoryRejection } from "../../src/core/memory.ts";
import { checkMemories } from "../../src/memory/gates.ts";
import { said } from "./said.ts";

/** Statements of made-up conversations, true ones and false ones, and what the checks make of them. */

/** Statement, subject, quote, line, and type; default: a fact. */
const Item = z.tuple([z.string(), z.string(), z.string(), z.int()]).rest(z.string());
const Conversation = z.object({
  language: z.string(),
  lines: z.array(z.string()),
  gold: z.array(Item),
  false: z.array(Item),
});
export type Conversation = z.infer<typeof Conversation>;

export interface Stated {
  readonly kind: "gold" | "written" | "swapped name" | "other line" | "invented tail" | "negation flipped";
  readonly language: string;
  readonly statement: string;
  readonly subject: string;
  readonly quote: string;
  readonly line: number;
  readonly type: string;
  readonly lines: ReadonlyMap<number, Entry>;
}

/** Ends of statements that nobody said, by language. */
const TAILS: Readonly<Record<string, readonly string[]>> = {
  en: [" at C:\\Users\\kim\\plans.txt", " for 90,000 euros", " in Reykjavik", " with Marvin", " since 1974"],
  de: [" für 90.000 Euro", " in Reykjavik", " mit Marvin", " bis 2031-05-17"],
  ja: ["、費用は90000円", "、レイキャビクで", "、マービンと一緒に"],
  es: [" por 90.000 euros", " en Reikiavik", " con Marvin"],
  fr: [" pour 90 000 euros", " à Reykjavik", " avec Marvin"],
};

const FLIPS: Readonly<Record<string, (statement: string) => string>> = {
  en: (text) =>
    /\b(?:not|never) /.test(text)
      ? text.replace(/\b(?:does )?(?:not|never) /, "")
      : text.replace(
          / (is|lives|works|moved|has|will|took|plays|uses|owns|goes|drives|speaks|keep|ordered|decided) /,
          " never $1 ",
        ),
  de: (text) =>
    /\b(?:kein|nie) ?/.test(text)
      ? text.replace(/ (?:kein|nie)(?= )/, "")
      : text.replace(/ (?=in |im |bei |am |seit |lieber |\d|behalten|einen |eine |Bratsche )/, " nicht "),
  ja: (text) =>
    /ない。/.test(text)
      ? text.replace(/べない。/, "べる。")
      : text.replace(/(?:いる|ある|だった|だ|きる|まった|いた)。$/, "いない。"),
  es: (text) =>
    / no /.test(text)
      ? text.replace(" no ", " ")
      : text.replace(/ (?=vive|tiene|trabaja|cuesta|toca)/, " no "),
  fr: (text) =>
    / ne | pas /.test(text)
      ? text.replace(" ne ", " ").replace(" pas ", " ")
      : text.replace(/ (habite|a|travaille|joue|s'appelle) /, " ne $1 pas "),
};

export function conversations(): Conversation[] {
  const file = `${import.meta.dirname}/samples/statements.json`;
  return z.array(Conversation).parse(JSON.parse(readFileSync(file, "utf8")));
}

/** All statements, with false ones that are made of the true ones. */
export function statements(all: readonly Conversation[] = conversations()): Stated[] {
  return all.flatMap((conversation) => {
    const { language } = conversation;
    const lines = linesOf(conversation);
    const toStated = (
      kind: Stated["kind"],
      [statement, subject, quote, line, type = "fact"]: z.infer<typeof Item>,
    ): Stated => {
      return { kind, language, statement, subject, quote, line, type, lines };
    };
    const gold = conversation.gold.map((item) => toStated("gold", item));
    return [
      ...gold,
      ...conversation.false.map((item) => toStated("written", item)),
      ...gold.flatMap((one, index) => spoilt(one, index)),
    ];
  });
}

function linesOf({ lines }: Conversation): ReadonlyMap<number, Entry> {
  return new Map(
    lines.map((line, index) => {
      const [name = "", ...text] = line.split(": ");
      return [
        index + 1,
        said(index + 1, text.join(": "), { author: { id: `u-${name}`, name, isBot: false } }),
      ] as const;
    }),
  );
}

function spoilt(gold: Stated, index: number): Stated[] {
  const names = [
    ...new Set([...gold.lines.values()].map((entry) => (entry.kind === "user" ? entry.author.name : ""))),
  ];
  const own = names.find((name) => gold.statement.includes(name));
  const other = names.find((name) => name !== own && !gold.statement.includes(name));
  const swapped =
    own === undefined || other === undefined
      ? []
      : [
          {
            ...gold,
            kind: "swapped name" as const,
            subject: other,
            statement: gold.statement.replaceAll(own, other),
          },
        ];
  const far = [...gold.lines.keys()].filter((line) => Math.abs(line - gold.line) > 3);
  const line = far[(index * 7) % far.length] ?? 1;
  const text = gold.lines.get(line)?.text ?? "";
  const tails = TAILS[gold.language] ?? [];
  const end = /[.。]$/.exec(gold.statement)?.[0] ?? "";
  const bare = gold.statement.slice(0, gold.statement.length - end.length);
  const flipped = FLIPS[gold.language]?.(gold.statement) ?? gold.statement;
  return [
    ...swapped,
    { ...gold, kind: "other line", line, quote: text },
    ...tails.map((tail) => ({ ...gold, kind: "invented tail" as const, statement: `${bare}${tail}${end}` })),
    ...(flipped === gold.statement
      ? []
      : [{ ...gold, kind: "negation flipped" as const, statement: flipped }]),
  ];
}

/** Null: it is kept. */
export function refusalOf({ statement, subject, quote, line, type, lines }: Stated): MemoryRejection | null {
  const { dropped } = checkMemories(
    { memories: [{ type, subject, statement, quote, sources: [line] }] },
    { sources: lines, promptText: "", agentName: "Weir", dayOf: (at) => at.toISOString().slice(0, 10) },
  );
  return dropped[0]?.reason ?? null;
}
