import type { AgentFile } from "../../context/sections/section.ts";
import type { FeatureKey } from "../../core/feature-key.ts";
import type { NoteKind } from "./note-keeper.ts";

/** A line that an agent wants in its notes of a channel. */
export interface NoteRequest {
  readonly kind: NoteKind;
  /** Empty: the replaced line is deleted. */
  readonly text: string;
  /** Words of a line that the agent has written; null: nothing is replaced. */
  readonly replaces: string | null;
}

export interface NoteKit {
  /** The notes of the channel, and of a thread's channel; none if the files are too slow. */
  read(): Promise<readonly AgentFile[]>;
  /**
   * Writes, replaces or removes a line.
   * @returns the result for the model
   * @throws ToolFailure if nothing was written
   */
  write(request: NoteRequest): Promise<string>;
}

export const NOTES: FeatureKey<null, NoteKit> = { name: "notes" };
