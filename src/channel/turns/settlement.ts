import type { TurnEntryDraft } from "../../core/entry.ts";
import { UNSPACED_SCRIPTS } from "../../text/scripts.ts";
import type { Settlement } from "../../store/turns/turns.ts";
import type { FailureKind } from "../../prompts/load.ts";
import type { TurnOutcome } from "../../turn/outcome.ts";

/** Ends an answer that `/stop` cut off. */
const STOPPED = " … (stopped)";
/** Ends an answer whose question was edited while it was written. */
const EDITED = "(A message was changed meanwhile: this answers it as it read before.)";
const SENTENCE_END = /(?:[.!?…]["'”’)\]]*(?=\s)|[。！？])/gu;
/** A cut answer drops its last, perhaps incomplete word. */
const LAST_WORD = /(?<!\S)\S+$/u;
/** In scripts without spaces, a text may end at any character. */
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]$`, "u");

/**
 * The text of a stopped answer, up to its last whole sentence or word, with a mark. Pure.
 * @returns "" if it has no whole word
 */
function stoppedText(said: string): string {
  const text = said.trim();
  const isWhole = text === "" || /[.!?…。！？]["'”’)\]]*$/u.test(text) || UNSPACED.test(text);
  const whole = isWhole ? text : wholeWords(text);
  if (whole === "") return "";
  const isInCode = (whole.match(/^[^\S\r\n\u2028\u2029]*```/gm)?.length ?? 0) % 2 === 1;
  return whole + (isInCode ? "\n```\n" : "") + (isInCode ? STOPPED.trimStart() : STOPPED);
}

/** Ends an answer by a substitute for an agent that no longer answers here. */
function insteadOf(name: string): string {
  return `(${name} does not answer here any more: I have answered instead.)`;
}

/** Without the unfinished last sentence, or, if that is over half of the text, without the last word. */
function wholeWords(text: string): string {
  const ends = [...text.matchAll(SENTENCE_END)].map((match) => match.index + match[0].length);
  const last = ends.at(-1) ?? 0;
  return (last >= text.length / 2 ? text.slice(0, last) : text.replace(LAST_WORD, "")).trimEnd();
}

/**
 * The log's entry of a turn's outcome. Never silence: a failure has a sentence for the person, without the provider's
 * words. A model's or provider's message may quote what people wrote, and the row outlives a deletion: so that message
 * is only logged (`told`), not stored. Pure.
 * @param isEdited a message that it answers was changed after the model had read it
 * @param missed names of asked agents that no longer answer here
 */
export function toSettlement(
  outcome: TurnOutcome,
  failureText: (kind: FailureKind, calls?: number) => string,
  isEdited = false,
  missed: readonly string[] = [],
): Pick<Settlement, "state" | "reason"> & {
  told: string | null;
  logged?: string;
  entry: (TurnEntryDraft & { text: string }) | null;
} {
  switch (outcome.kind) {
    case "answered":
      return {
        state: "answered",
        reason: null,
        told: null,
        entry: {
          kind: "assistant",
          text: [outcome.text, ...(isEdited ? [EDITED] : []), ...missed.map(insteadOf)].join("\n\n"),
          stopped: false,
          ...(outcome.standIn === true && { standIn: true }),
        },
      };
    case "skipped":
      return { state: "skipped", reason: null, told: outcome.reason, entry: null };
    case "stopped": {
      const text = stoppedText(outcome.text);
      return {
        state: "stopped",
        reason: null,
        told: null,
        entry: text === "" ? null : { kind: "assistant", text, stopped: true },
      };
    }
    case "bounded": {
      const sentence = failureText("too_many_calls", outcome.calls);
      const ended = { state: "stopped", reason: outcome.why, told: outcome.why } as const;
      if (outcome.text === "") return { ...ended, entry: { kind: "notice", text: sentence } };
      const text = `${outcome.text}\n\n${sentence}`;
      return { ...ended, entry: { kind: "assistant", text, stopped: true } };
    }
    case "failed":
      return {
        state: "failed",
        reason: outcome.why,
        told: outcome.told === undefined ? outcome.why : `${outcome.why}: ${outcome.told}`,
        ...(outcome.logged !== undefined && { logged: outcome.logged }),
        entry: { kind: "notice", text: failureText(outcome.failure) },
      };
  }
}
