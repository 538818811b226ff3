import type { ToolResultEntry } from "../core/entry.ts";
import { containsQuote, normalWords } from "../text/normal-text.ts";
import { headAndTail } from "../text/text.ts";
import { plantsMemory, tellsReader } from "./planted-instructions.ts";
import { isCovered, namesPerson, type NearLine, unfoundPart } from "./statement-support.ts";
import { type Fault, isTurned, type Lines, peopleOf, type SupportedItem } from "./support-gate.ts";
import { hasSelf, isAttributed, isOfSelf, noFact, sentencesAround } from "./told-as.ts";

/**
 * Whether a statement says what a tool has returned: a page, a file, a program. Nobody here has said it, so that nothing beside the result
 * supports it, and what may be an order is refused. Pure.
 */

/** Longest result of a tool that a summariser is shown, in UTF-16 units. */
export const SHOWN_RESULT = 1200;

/** Signs around the values of JSON and of tables: each value is a sentence of its own. */
const AROUND_VALUES = /["“”„«»「」『』{}[\]|]+/gu;

/** The parts of a result that a summariser is shown: all of it, or its beginning and its end. */
export function shownParts(text: string): string[] {
  if (text.length <= SHOWN_RESULT) return [text];
  const { head, tail } = headAndTail(text, SHOWN_RESULT);
  return [head, tail];
}

/** Whether a quote stands in one of the parts. @param quote its normal words */
export function isShown(quote: string, { text }: ToolResultEntry): boolean {
  return shownParts(text).some((part) => containsQuote(normalWords(part), quote));
}

/** What is wrong with a statement; null: nothing. @param cited its results, each with the quote */
export function seenFault(
  item: SupportedItem,
  cited: readonly ToolResultEntry[],
  lines: Lines,
): Fault | null {
  const { statement, quote } = item;
  const shown = cited.map((entry) => ({ entry, parts: shownParts(entry.text) }));
  const near = shown.flatMap(({ entry, parts }) =>
    parts.map((text): NearLine => ({ text, author: "", day: lines.dayOf(entry.at) })),
  );
  const values = shown.flatMap(({ parts }) => parts.map((part) => part.replaceAll(AROUND_VALUES, "\n")));
  const around = values
    .filter((part) => containsQuote(normalWords(part), normalWords(quote)))
    .flatMap((part) => sentencesAround(quote, part));
  if (near.some(({ text }) => plantsMemory(text)) || [statement, quote, ...around].some(tellsReader))
    return {
      reason: "instruction",
      why: "the result tells its reader what to do or to remember: it is no proof",
    };
  const people = peopleOf(lines);
  const unfound = unfoundPart(item, near, people);
  if (unfound !== null)
    return {
      reason: "unsaid",
      why: `"${unfound.slice(0, 60)}" does not stand in the cited result: state only what it says`,
    };
  if (!isCovered(statement, near, near))
    return { reason: "unsaid", why: "the cited result hardly has a word of the statement: use its words" };
  if (isOfSpeaker(statement, around, people))
    return { reason: "speaker", why: "the result repeats what somebody says: only who said it proves that" };
  return formFault(item, around);
}

/** Whether a statement gives words to a person, or the result has the words of one. */
function isOfSpeaker(statement: string, around: readonly string[], people: ReadonlySet<string>): boolean {
  const isOfAnyone = [...people].some((name) => namesPerson(statement, name));
  return (isOfAnyone && isAttributed(statement)) || around.some((one) => isOfSelf(one) || hasSelf(one));
}

function formFault({ statement, quote }: SupportedItem, around: readonly string[]): Fault | null {
  const line = around.join("\n");
  const fact = noFact({ statement, quote, line, after: [], isAgreed: false, isOfSpeaker: false });
  if (fact !== null) return { reason: "no_fact", why: `the quote is ${fact}, and no fact` };
  return isTurned(statement, quote, line)
    ? { reason: "negation", why: "the statement denies what the quote affirms, or affirms what it denies" }
    : null;
}
