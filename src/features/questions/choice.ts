import { z } from "zod";
import { chatPlatform } from "../../platforms/platforms.ts";
import type { QuestionRow } from "./question.ts";

export const FEWEST_CHOICES = 2;
/** Discord shows five buttons in a row, and so do we everywhere. */
export const MOST_CHOICES = 5;
/** Longest question and choice, in UTF-16 units: both fit a message and its buttons. */
export const LONGEST_QUESTION = 1000;
export const LONGEST_CHOICE = 75;
/** A longer text makes no choice. */
const LONGEST_SAID = 2 * LONGEST_CHOICE;

export interface Choice {
  readonly question: string;
  readonly choices: readonly string[];
}

const stored = z.object({ question: z.string(), choices: z.array(z.string()) });

/** Null: its words are deleted. Pure. */
export function choiceOf({ arguments: json }: Pick<QuestionRow, "arguments">): Choice | null {
  if (json === "") return null;
  const { success, data } = stored.safeParse(JSON.parse(json));
  return success ? { question: data.question.trim(), choices: data.choices.map(lineOf) } : null;
}

/** The number of the choice that a text names, by its number or its words; null: it names none. Pure. */
export function choiceNamed({ choices }: Choice, text: string): number | null {
  const wanted = folded(text);
  const number = /^#?([1-9])[.)]?$/.exec(wanted)?.[1];
  const byWords = choices.findIndex((choice) => folded(choice) === wanted) + 1;
  if (byWords > 0) return byWords;
  return number !== undefined && Number(number) <= choices.length ? Number(number) : null;
}

/** Whether a person may make a choice; at the terminal, whoever sits there may. Pure. */
export function mayAnswer(
  { askedOf }: Pick<QuestionRow, "askedOf">,
  platform: string,
  person: string,
): boolean {
  return askedOf.length === 0 || chatPlatform(platform) === undefined || askedOf.includes(person);
}

/**
 * The choice that somebody makes by a plain text, after a mention or alone: its number, where one question waits for them, or its words.
 * Null: the text makes none. Pure.
 */
export function choiceIn(
  rows: readonly QuestionRow[],
  text: string,
): { readonly id: number; readonly number: number } | null {
  const said = saidIn(text);
  const meant = rows.flatMap((row) => {
    const choice = choiceOf(row);
    const number = choice === null ? null : choiceNamed(choice, said);
    return number === null ? [] : [{ id: row.id, number }];
  });
  const [first, ...others] = meant;
  const isNumber = /^#?\d/.test(said);
  return first === undefined || others.length > 0 || (isNumber && rows.length > 1) ? null : first;
}

export function mayBeChoice(text: string): boolean {
  return saidIn(text).length <= LONGEST_SAID;
}

/** A text without the mention before it. */
function saidIn(text: string): string {
  return text.trim().replace(/^@[^\s,:]+[\s,:]+/, "");
}

export function folded(text: string): string {
  return lineOf(text).toLowerCase();
}

function lineOf(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
