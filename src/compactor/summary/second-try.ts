import { inSlices } from "../../async/cooperative.ts";
import { escapeLabels } from "../../context/labels.ts";
import { isTalk, saysTooLittle } from "./not-a-summary.ts";
import {
  type FactLimits,
  isTolerable,
  missingFacts,
  type RequiredFact,
  requiredFacts,
} from "./required-facts.ts";
import { peopleOf, quotation, type SourceLine, wordsOf } from "./source.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { scriptMissed } from "./summary-script.ts";
import type { SummaryRejection } from "./summary-checks.ts";

/**
 * Why a summary of a good form is asked for once more: it is an answer to somebody, it says next to nothing, it is in another
 * script than the talk, or it lacks what it must not lose.
 */
export type SecondTryReason = "talk" | "too_little" | "script" | "facts";

export interface SummaryFault {
  readonly reason: SecondTryReason;
  /** Of the talk; "": the summary has it. */
  readonly script: string;
  /** The required facts that it lacks. */
  readonly missing: readonly RequiredFact[];
  /** It must not be committed; null: it is better than none. */
  readonly rejection: SummaryRejection | null;
}

/** The one further call of an attempt, for all checks and all parts together. */
export class SecondTry {
  readonly #onTaken: (reason: SecondTryReason) => void;
  #isTaken = false;

  constructor(onTaken: (reason: SecondTryReason) => void) {
    this.#onTaken = onTaken;
  }

  take(reason: SecondTryReason): boolean {
    if (this.#isTaken) return false;
    this.#isTaken = true;
    this.#onTaken(reason);
    return true;
  }
}

/** Checks the summaries of one source. */
export class SummaryJudge {
  readonly #lines: readonly SourceLine[];
  readonly #limits: FactLimits;
  #words: ReadonlySet<string> | null = null;
  #facts: readonly RequiredFact[] | null = null;

  constructor(lines: readonly SourceLine[], limits: FactLimits) {
    this.#lines = lines;
    this.#limits = limits;
  }

  /** What is wrong with a summary; null: nothing. */
  async faultOf(text: string): Promise<SummaryFault | null> {
    this.#words ??= await inSlices(wordsOf(this.#lines));
    const none = { script: "", missing: [], rejection: null };
    if (isTalk(text, this.#words, peopleOf(this.#lines)))
      return { ...none, reason: "talk", rejection: { kind: "talk", why: "it speaks to somebody" } };
    if (saysTooLittle(text, this.#words))
      return {
        ...none,
        reason: "too_little",
        rejection: { kind: "too_little", why: "it says next to nothing" },
      };
    const script = scriptMissed(text, this.#lines);
    if (script !== null) return { ...none, reason: "script", script };
    this.#facts ??= await inSlices(requiredFacts(this.#lines, this.#limits));
    const missing = await inSlices(missingFacts(text, this.#facts));
    if (isTolerable(missing.length, this.#facts.length)) return null;
    return { ...none, reason: "facts", missing };
  }
}

/** Facts as a prompt lists them: people's words, quoted. */
export function quotedFacts(missing: readonly RequiredFact[]): string[] {
  return missing.map(({ text }) => escapeLabels(JSON.stringify(text)));
}

/**
 * A summary followed by the sentences with the facts that it lacks, word for word: what its model leaves out twice is not lost.
 * @param room estimated tokens for these sentences
 */
export function withSentences(text: string, missing: readonly RequiredFact[], room: number): string {
  const quoted = new Set<string>();
  let left = room;
  for (const { sentence, line } of missing) {
    const { author, day } = line;
    // A line of a summary is its own account.
    const quote = author === "" ? sentence : quotation(day === "" ? author : `${author} (${day})`, sentence);
    const tokens = estimateTokens(`\n${quote}`);
    if (quoted.has(quote) || tokens > left) continue;
    left -= tokens;
    quoted.add(quote);
  }
  return [text, ...quoted].join("\n");
}

/** Whether the second summary takes the place of the first, which may be committed as well. */
export function isBetter(first: SummaryFault, second: SummaryFault | null): boolean {
  if (second === null) return true;
  if (second.rejection !== null) return false;
  if (first.reason === "script") return true;
  return second.reason === "facts" && second.missing.length <= first.missing.length;
}
