import type { TurnEntryDraft } from "../core/entry.ts";
import type { Settlement } from "../store/turns.ts";
import type { FailureKind } from "../prompts.ts";
import type { TurnOutcome } from "../turn/turn.ts";

/**
 * How a turn's outcome goes into the log. Never silence: a failure has a sentence for the person, without a word of
 * the provider's. What a model or a provider says of it may quote what people wrote, and a row outlives a deletion: it
 * is `told` in a log line, and not stored. Pure.
 */
export function toSettlement(
  outcome: TurnOutcome,
  failureText: (kind: FailureKind) => string,
): Pick<Settlement, "state" | "reason"> & {
  told: string | null;
  entry: (TurnEntryDraft & { text: string }) | null;
} {
  switch (outcome.kind) {
    case "answered":
      return {
        state: "answered",
        reason: null,
        told: null,
        entry: { kind: "assistant", text: outcome.text, stopped: false },
      };
    case "skipped":
      return { state: "skipped", reason: null, told: outcome.reason, entry: null };
    case "stopped": {
      const text = outcome.text.trim();
      return {
        state: "stopped",
        reason: null,
        told: null,
        entry: text === "" ? null : { kind: "assistant", text, stopped: true },
      };
    }
    case "failed":
      return {
        state: "failed",
        reason: outcome.why,
        told: outcome.said === undefined ? outcome.why : `${outcome.why}: ${outcome.said}`,
        entry: { kind: "notice", text: failureText(outcome.failure) },
      };
  }
}
