import { beforeOrder } from "../../memory/planted-instructions.ts";
import { isAttributed } from "../../memory/told-as.ts";
import { sharedWords } from "../../memory/statement-support.ts";
import { splitSentences, terms } from "../../text/terms.ts";
import { namesOneOf, peopleOf, quotation, type SourceLine } from "./source.ts";

/** Share of the words of an order that a line has if it is its line. */
const SAME_WORDS = 0.6;
/** A line of an extract: `[2026-11-21 14:05] NAME: text`. */
const SPOKEN = /^\\?\[\d{4}-\d\d-\d\d \d\d:\d\d\] .{1,80}?: /u;
/** Words before a quotation that begins. */
const QUOTES = /\p{L}.{0,100}["“„«「『]\s*$/u;

/**
 * Removes orders to the reader from a summary. A sentence that gives an order without a speaker becomes a quotation of the
 * person who gave that order; if no person did, it is left out. Pure.
 */
export function withoutOrders(text: string, lines: readonly SourceLine[]): string {
  const isFree = (one: string): boolean => beforeOrder(one) === null;
  const isFreeLine = (line: string): boolean => splitSentences(line).every(isFree);
  if (text.split("\n").every(isFreeLine)) return text;
  const people = peopleOf(lines);
  const written: string[] = [];
  for (const line of text.split("\n")) {
    if (isFreeLine(line) || SPOKEN.test(line)) {
      written.push(line);
      continue;
    }
    let isQuoted = false;
    const kept = splitSentences(line).flatMap((sentence) => {
      const isInQuote = isQuoted;
      if ((sentence.match(/["“”„«»「」『』]/gu)?.length ?? 0) % 2 === 1) isQuoted = !isQuoted;
      if (isInQuote || isFree(sentence) || isOfSomebody(sentence, people)) return [sentence];
      return quoteOf(sentence, lines) ?? [];
    });
    if (kept.length > 0) written.push(kept.join(" "));
  }
  return written.join("\n");
}

/** Whether a sentence says whose order it is: before it, or by a word that says so beside a name. */
function isOfSomebody(sentence: string, people: ReadonlySet<string>): boolean {
  const before = beforeOrder(sentence) ?? "";
  if (namesOneOf(before, people) || isAttributed(before) || QUOTES.test(before)) return true;
  return isAttributed(sentence) && namesOneOf(sentence, people);
}

/** The sentence of a person that gives the same order, as a quotation; null: nobody gave it. */
function quoteOf(sentence: string, lines: readonly SourceLine[]): string | null {
  const words = new Set(terms(sentence)).size;
  let best: { readonly author: string; readonly text: string } | null = null;
  let most = Math.max(1, words * SAME_WORDS);
  for (const { author, text, isOfPerson } of lines) {
    if (!isOfPerson || author === "" || beforeOrder(text) === null) continue;
    for (const said of splitSentences(text)) {
      const shared = sharedWords(sentence, said);
      if (shared < most || beforeOrder(said) === null) continue;
      most = shared;
      best = { author, text: said };
    }
  }
  return best === null ? null : quotation(best.author, best.text);
}
