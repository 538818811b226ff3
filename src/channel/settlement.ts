import type { TurnEntryDraft } from "../core/entry.ts";
import type { Settlement } from "../store/turns.ts";
import type { FailureKind } from "../prompts.ts";
import type { TurnOutcome } from "../turn/turn.ts";

/**
 * How a turn's outcome goes into the log. Never silence: a failure has a sentence for the person, without a word of
 * the provider's. Pure.
 */
export function toSettlement(
  outcome: TurnOutcome,
  failureText: (kind: FailureKind) => string,
): Pick<Settlement, "state" | "reason"> & { entry: (TurnEntryDraft & { text: string }) | null } {
  switch (outcome.kind) {
    case "answered":
      return {
        state: "answered",
        reason: null,
        entry: { kind: "assistant", text: outcome.text, stopped: false },
      };
    case "skipped":
      return { state: "skipped", reason: outcome.reason, entry: null };
    case "stopped": {
      const text = outcome.text.trim();
      return {
        state: "stopped",
        reason: null,
        entry: text === "" ? null : { kind: "assistant", text, stopped: true },
      };
    }
    case "failed":
      return {
        state: "failed",
        reason: outcome.why,
        entry: { kind: "notice", text: failureText(outcome.failure) },
      };
  }
}
