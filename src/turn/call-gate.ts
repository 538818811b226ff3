import type { ToolCall, TurnEntryDraft } from "../core/entry.ts";
import type { WrittenBeside } from "../store/log/log.ts";
import type { ToolRunParts } from "./tool-calls.ts";

/** Appends entries of a turn to the log, with what is written beside them, then to the history. */
export type AppendEntries = (drafts: readonly TurnEntryDraft[], beside?: WrittenBeside) => Promise<void>;

/** Holds calls of a turn's tools back, and runs them in a later turn if they are released by then. */
export interface CallGate {
  /** Finds which of these calls may not run yet. */
  hold(calls: readonly ToolCall[]): Promise<HeldCalls>;
  /** Runs the calls that the turn's messages release, before its first request: each call and its result are appended. */
  runReleased(parts: ToolRunParts, append: AppendEntries): Promise<void>;
}

export interface HeldCalls {
  /** The results of the calls that do not run, by their ids. */
  readonly told: ReadonlyMap<string, string>;
  /** What is written with the calls. Default: nothing. */
  readonly beside?: WrittenBeside | undefined;
}

export const OPEN_GATE: CallGate = {
  hold: async () => ({ told: new Map() }),
  runReleased: async () => undefined,
};
