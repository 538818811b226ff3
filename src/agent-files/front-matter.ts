import { type Document, LineCounter, parseDocument } from "yaml";
import { z } from "zod";

/** A Markdown file with its YAML front matter taken apart. */
export interface FrontMatter {
  /** What stands between the marks; {} without any, or where it cannot be read. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** `3: what is wrong`, the number being a line of the file; null: nothing is. */
  readonly problem: string | null;
}

const MARKS = /^---[ \t]*\r?\n(?<yaml>[\s\S]*?)(?:^---[ \t]*(?:\r?\n|$)|(?![\s\S]))/m;

/** Reads front matter. A mistake in it costs the front matter, and never the text. Pure. */
export function readFrontMatter(text: string): FrontMatter {
  if (!/^---[ \t]*\r?\n/.test(text)) return { values: {}, body: text, problem: null };
  const found = MARKS.exec(text);
  const yaml = found?.groups?.["yaml"] ?? "";
  const whole = found?.[0] ?? "";
  if (!/\n---[ \t]*\r?\n?$/.test(whole))
    return { values: {}, body: text, problem: "1: the front matter has no end: a line with --- alone" };
  const body = text.slice(whole.length);
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lines.linePos(error.pos[0]);
    return { values: {}, body, problem: `${line + 1}: ${error.message.split(" at line ")[0]}` };
  }
  const values = matter.safeParse(valueOf(document) ?? {});
  return values.success
    ? { values: values.data, body, problem: null }
    : { values: {}, body, problem: "2: the front matter is to be a list of `key: value`, without aliases" };
}

const matter = z.record(z.string(), z.unknown());

/** A value that is refused where it has aliases: a few lines of them may stand for a billion. */
function valueOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    return "aliases";
  }
}

/** Of patterns with more stars, matching a long name that people make up may take for ever. */
const glob = z
  .string()
  .max(200)
  .refine((pattern) => pattern.split("/").every((part) => (part.match(/[*?({[]/g) ?? []).length <= 3));

const oneOrMore = z
  .union([glob, z.array(glob).max(50)])
  .transform((value) => (typeof value === "string" ? [value] : value));

/** The front matter of a rule: globs. */
export const ruleMatter = z.object({ channels: oneOrMore.default([]), paths: oneOrMore.default([]) });

/** The front matter of a skill, as agentskills.io has it. */
export const skillMatter = z.object({
  name: z.string().trim().min(1).max(64),
  description: z.string().trim().min(1).max(1024),
});
