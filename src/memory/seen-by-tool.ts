import { argumentValues, type Entry, type ToolResultEntry } from "../core/entry.ts";
import { containsQuote, normalWords } from "../text/normal-text.ts";
import { tellingTerms } from "../text/terms.ts";
import { headAndTail } from "../text/text.ts";
import { speaksOfSelf } from "./first-person.ts";
import { plantsMemory, tellsReader } from "./planted-instructions.ts";
import { isCovered, namesPerson, type NearLine, unfoundPart } from "./statement-support.ts";
import { type Fault, isTurned, type Lines, peopleOf, type SupportedItem } from "./support-gate.ts";
import { isAttributed, noFact, sentencesAround } from "./told-as.ts";

/**
 * Whether a statement says what a tool has returned: a page, a file, a program. No person has said it, so only the result
 * can support it, and a possible order is refused. Pure.
 */

/** Longest result of a tool that a summariser is shown, in UTF-16 units. */
export const SHOWN_RESULT = 1200;

/** Signs around the values of JSON and of tables: each value is a sentence of its own. */
const AROUND_VALUES = /["“”„«»「」『』{}[\]|]+/gu;

/** A result as its summariser knows it. */
export interface ShownResult {
  readonly entry: ToolResultEntry;
  /** What is shown of it: all, or its beginning and its end. */
  readonly parts: readonly string[];
  /** The values of the call's arguments. A tool may repeat them: such a result proves nothing, since the model wrote them. */
  readonly asked: string;
}

/** @returns null: its call is not among these entries, so that nobody knows whether it repeats the call */
export function shownResult(entry: ToolResultEntry, calls: Iterable<Entry>): ShownResult | null {
  const { text } = entry;
  const asked = argumentsOf(entry, calls);
  if (asked === null) return null;
  const { head, tail } = headAndTail(text, SHOWN_RESULT);
  const parts = text.length <= SHOWN_RESULT ? [text] : [head, tail];
  return { entry, parts, asked };
}

/** The values of the arguments of its call; null: the call is not among the entries. */
function argumentsOf({ turnId, callId }: ToolResultEntry, entries: Iterable<Entry>): string | null {
  for (const entry of entries) {
    if (entry.kind !== "tool_call" || entry.turnId !== turnId) continue;
    const call = entry.calls.find(({ id }) => id === callId);
    if (call !== undefined) return argumentValues(call.arguments);
  }
  return null;
}

/** Whether a quote stands in what is shown, and not in what the tool was asked. @param quote its normal words */
export function isShown(quote: string, { parts, asked }: ShownResult): boolean {
  return (
    !containsQuote(normalWords(asked), quote) && parts.some((part) => containsQuote(normalWords(part), quote))
  );
}

/** What is wrong with a statement; null: nothing. @param shown its results, each with the quote */
export function seenFault(item: SupportedItem, shown: readonly ShownResult[], lines: Lines): Fault | null {
  const { statement, quote } = item;
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
  const asked = new Set(shown.flatMap((one) => [...tellingTerms(one.asked)]));
  if (tellingTerms(statement).isSubsetOf(asked))
    return { reason: "speaker", why: "it says nothing that was not asked in the call: that proves nothing" };
  if (isOfSpeaker(statement, around, people))
    return { reason: "speaker", why: "the result repeats what somebody says: only who said it proves that" };
  return formFault(item, around);
}

/** Whether a statement gives words to a person, or the result has the words of one. */
function isOfSpeaker(statement: string, around: readonly string[], people: ReadonlySet<string>): boolean {
  const isOfAnyone = [...people].some((name) => namesPerson(statement, name));
  return (isOfAnyone && isAttributed(statement)) || around.some(speaksOfSelf);
}

function formFault({ statement, quote }: SupportedItem, around: readonly string[]): Fault | null {
  const line = around.join("\n");
  const fact = noFact({ statement, quote, line, after: [], isAgreed: false, isOfSpeaker: false });
  if (fact !== null) return { reason: "no_fact", why: `the quote is ${fact}, and no fact` };
  return isTurned(statement, quote, line)
    ? { reason: "negation", why: "the statement denies what the quote affirms, or affirms what it denies" }
    : null;
}
