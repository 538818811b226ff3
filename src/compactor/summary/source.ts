import { SliceCounter, type Slices } from "../../async/cooperative.ts";
import { escapeLabels } from "../../context/labels.ts";
import { displayName, sliceWhole } from "../../text/text.ts";
import { normalWords } from "../../text/normal-text.ts";
import { PAIRED_SCRIPTS } from "../../text/scripts.ts";
import { terms } from "../../text/terms.ts";
import type { TranscriptLine } from "./transcript.ts";

/** A line of what is summarised, as the checks of its summary read it. */
export interface SourceLine {
  /** "": nobody is known to have said it. */
  readonly author: string;
  readonly text: string;
  /** The ISO day on which it was said; "": unknown. */
  readonly day: string;
  readonly isOfPerson: boolean;
  /** Whether a person or an agent said it: not a tool's result. */
  readonly isSpoken: boolean;
}

/**
 * The lines of a transcript, or of a chunk of one.
 * @param whole the transcript's text. A message that it has only in part gets no author
 * @param dayOf returns the ISO day of a time
 */
export function linesOf(
  transcript: readonly TranscriptLine[],
  whole: string,
  agentName: string,
  dayOf: (at: Date) => string,
): SourceLine[] {
  const last = transcript.length - 1;
  return transcript.map(({ entry, body }, index): SourceLine => {
    const day = dayOf(entry.at);
    const isPiece = (index === 0 || index === last) && !whole.includes(body);
    if (isPiece) return { author: "", text: body, day, isOfPerson: false, isSpoken: false };
    switch (entry.kind) {
      case "user": {
        const { author, text } = entry;
        const name = displayName(author.name);
        return { author: name, text, day, isOfPerson: !author.isBot, isSpoken: true };
      }
      case "assistant":
        return { author: agentName, text: entry.text, day, isOfPerson: false, isSpoken: true };
      case "notice": {
        const author = entry.edits === null ? "" : displayName(entry.edits.author);
        return { author, text: entry.text, day, isOfPerson: author !== "", isSpoken: author !== "" };
      }
      default:
        return { author: "", text: body, day, isOfPerson: false, isSpoken: false };
    }
  });
}

/** The lines of summaries that become one. */
export function linesOfTexts(texts: readonly string[]): SourceLine[] {
  return texts.flatMap((text) =>
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => ({ author: "", text: line, day: "", isOfPerson: false, isSpoken: true })),
  );
}

/** Names of the people who speak in the lines. */
export function peopleOf(lines: readonly SourceLine[]): ReadonlySet<string> {
  return new Set(lines.flatMap(({ author, isOfPerson }) => (isOfPerson && author !== "" ? [author] : [])));
}

/** Longest sentence that is quoted, in UTF-16 units. */
const MAX_QUOTE = 300;

/** A sentence as a summary quotes it, without Weir's own labels. */
export function quotation(speaker: string, sentence: string): string {
  const quoted = sliceWhole(sentence.replaceAll(/["“”„«»]/gu, "'").replaceAll(/\s+/g, " "), 0, MAX_QUOTE);
  return `${speaker}: "${escapeLabels(quoted)}"`;
}

const UNSPACED = new RegExp(`[${PAIRED_SCRIPTS}]`, "u");
const SLICE_CHARACTERS = 4000;

/** The words of the lines, each once, without numbers. */
export function* wordsOf(lines: readonly SourceLine[]): Slices<ReadonlySet<string>> {
  const slice = new SliceCounter(SLICE_CHARACTERS);
  const words = new Set<string>();
  for (const { author, text } of lines) {
    for (const word of terms(`${author} ${text}`)) if (!/\d/.test(word)) words.add(word);
    if (slice.isOver(text.length)) yield;
  }
  return words;
}

/** Whether one of these names, or a part of one, is a word of the text. */
export function namesOneOf(text: string, names: ReadonlySet<string>): boolean {
  const words = ` ${normalWords(text)} `;
  return [...names].some((name) =>
    normalWords(name)
      .split(" ")
      .some(
        (part) =>
          part !== "" && (words.includes(` ${part} `) || (UNSPACED.test(part) && words.includes(part))),
      ),
  );
}
