import type { Context } from "../../src/core/context.ts";
import { terms } from "../../src/text/terms.ts";

/** Counts which evidence of a question stands in a request. Pure. */

/** The parts of a request that can hold evidence. */
export const PARTS = ["raw", "summaries", "memories", "recalled"] as const;
export type Part = (typeof PARTS)[number];

/** One message of the gold evidence, and what was noted of it. */
export interface Evidence {
  readonly text: string;
  readonly facts: readonly string[];
}

/** Share of a message's characters that a line must show, from the beginning. */
const SHOWN = 0.8;
/** A shorter message may stand in another one's line: it must be the whole end of its line. */
const SHORT = 20;
/** Share of the terms of a message or of a noted fact that one line must have to tell it. */
const TOLD = 0.8;

/**
 * A request's lines, by part. Evidence stands in the raw messages and in recalled ones if a line shows at least four fifths
 * of its text, word for word; in summaries and memories if one line has at least four fifths of the terms of the message, or of a
 * fact that was noted of it.
 */
export class RequestParts {
  readonly characters: number;
  readonly tokens: number;
  readonly #lines: Readonly<Record<"raw" | "recalled", readonly string[]>>;
  readonly #told: Readonly<Record<"summaries" | "memories", readonly ReadonlySet<string>[]>>;

  constructor(context: Context) {
    const textOf = (key: string): string =>
      context.segments
        .filter((segment) => segment.key === key)
        .flatMap(({ messages }) => messages.map(({ text }) => text))
        .join("\n");
    const sectionOf = (kind: string): string =>
      context.sections
        .filter((section) => section.kind === kind)
        .map(({ text }) => text)
        .join("\n");
    const all = context.segments.flatMap(({ messages }) => messages.map(({ text }) => text.length));
    this.characters = all.reduce((sum, length) => sum + length, 0);
    this.tokens = context.tokens;
    this.#lines = { raw: linesOf(textOf("history")), recalled: linesOf(sectionOf("recalled")) };
    const memories = [...toldIn(sectionOf("remembered")), ...toldIn(sectionOf("people"))];
    this.#told = { summaries: toldIn(textOf("summaries")), memories };
  }

  holds({ text, facts }: Evidence, part: Part): boolean {
    if (part === "raw" || part === "recalled") return this.#lines[part].some((line) => shows(line, text));
    const wanted = [text, ...facts].map((one) => [...new Set(terms(one))]);
    return this.#told[part].some((line) => wanted.some((words) => tells(line, words)));
  }
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

function toldIn(text: string): ReadonlySet<string>[] {
  return linesOf(text).map((line) => new Set(terms(line)));
}

function shows(line: string, text: string): boolean {
  const first = text.split("\n")[0]?.trim() ?? "";
  if (first.length < SHORT) return line.endsWith(`: ${first}`) || line.endsWith(`] ${first}`);
  return line.includes(first.slice(0, Math.ceil(first.length * SHOWN)));
}

function tells(line: ReadonlySet<string>, words: readonly string[]): boolean {
  return words.length > 0 && words.filter((word) => line.has(word)).length >= TOLD * words.length;
}
