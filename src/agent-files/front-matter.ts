import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import { z } from "zod";
import { once } from "../core/once.ts";

const require = createRequire(import.meta.url);
/** Its 72 files are read when there is front matter. */
// oxlint-disable-next-line no-unsafe-type-assertion -- `require` knows no types
const yamlReader = once(() => require("yaml") as typeof Yaml);

export interface FrontMatter {
  /** The values between the marks; {}: none, or unreadable. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** `3: what is wrong`, with a line of the file; null: no problem. */
  readonly problem: string | null;
}

const MARKS = /^---[ \t]*\r?\n(?<yaml>[\s\S]*?)(?:^---[ \t]*(?:\r?\n|$)|(?![\s\S]))/m;

/** Reads front matter. A mistake in it loses the front matter, never the text. Pure. */
export function readFrontMatter(text: string): FrontMatter {
  if (!/^---[ \t]*\r?\n/.test(text)) return { values: {}, body: text, problem: null };
  const found = MARKS.exec(text);
  const yaml = found?.groups?.["yaml"] ?? "";
  const whole = found?.[0] ?? "";
  if (!/\n---[ \t]*\r?\n?$/.test(whole))
    return { values: {}, body: text, problem: "1: the front matter has no end: a line with --- alone" };
  const body = text.slice(whole.length);
  const { LineCounter, parseDocument } = yamlReader();
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

/** Values with aliases are refused: a few lines may expand to a billion. */
function valueOf(document: Yaml.Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    return "aliases";
  }
}

/** With more stars, matching a long made-up name could take forever. */
const glob = z
  .string()
  .max(200)
  .refine((pattern) => pattern.split("/").every((part) => (part.match(/[*?({[]/g) ?? []).length <= 3));

const oneOrMore = z
  .union([glob, z.array(glob).max(50)])
  .transform((value) => (typeof value === "string" ? [value] : value));

/** The front matter of a rule: globs. */
export const ruleMatter = z.object({ channels: oneOrMore.default([]), paths: oneOrMore.default([]) });

/** The front matter of a skill by agentskills.io. */
const skillMatter = z.object({
  name: z
    .string("must be a text")
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, "must be 1 to 64 of a–z, 0–9 and - (inside)"),
  description: z
    .string("must be a text")
    .trim()
    .min(1, "must say what the skill is for")
    .max(1024, "may have 1024 characters"),
});

/**
 * A skill's name and purpose. Pure.
 * @param text of the whole file
 * @param folder the name of its folder
 * @returns the skill, or `3: what is wrong` with a line of the file
 */
export function skillIn(
  values: FrontMatter["values"],
  text: string,
  folder: string,
): { readonly name: string; readonly description: string } | { readonly problem: string } {
  const read = skillMatter.safeParse(values);
  if (!read.success) {
    const [issue] = read.error.issues;
    const key = String(issue?.path[0]);
    const what = key in values ? `${key} ${issue?.message}` : `a skill needs a ${key}`;
    return { problem: `${lineOf(key, text)}: ${what}` };
  }
  const { name, description } = read.data;
  if (name === folder) return { name, description };
  return { problem: `${lineOf("name", text)}: name must be that of the folder, ${folder}` };
}

/** The line of a key in the front matter; 1: not found. */
function lineOf(key: string, text: string): number {
  return (
    Math.max(
      0,
      text.split("\n").findIndex((line) => line.trimStart().startsWith(`${key}:`)),
    ) + 1
  );
}
