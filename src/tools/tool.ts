import type { EntryReference } from "../core/entry.ts";
import type { ToolSpec } from "../core/context.ts";

/** Something that the model may ask for. */
export interface Tool {
  readonly spec: ToolSpec;
  /**
   * Runs one call.
   * @param input the arguments, parsed from the model's JSON but not checked: the tool does that
   * @throws ToolInputError where the arguments are wrong; anything else is a failure of the tool. Both become results.
   */
  run(input: unknown, context: ToolContext): Promise<ToolOutcome>;
}

export type ToolOutcome =
  | { readonly kind: "result"; readonly text: string; readonly references: readonly EntryReference[] }
  /** The turn ends without an answer. */
  | { readonly kind: "skip"; readonly reason: string };

/** What a tool may use of the turn that runs it. */
export interface ToolContext {
  readonly signal: AbortSignal;
  /** Entries of the same channel that match, best first, each with its neighbours; hidden and visible ones alike. */
  searchHistory(query: string, limit: number): Promise<EntryReference[]>;
}

/** The model's arguments do not fit: the message tells it what to change. */
export class ToolInputError extends Error {}
