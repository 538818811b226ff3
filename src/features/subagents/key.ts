import type { FeatureKey } from "../../core/feature-key.ts";
import type { ToolContext } from "../../tools/tool.ts";
import type { SubagentDesk } from "./subagent-desk.ts";
import type { SubagentDraft } from "./subagent-store.ts";

/** A subagent's task and settings. */
export interface SpawnRequest extends Pick<SubagentDraft, "task" | "persona" | "model"> {
  /** Names; null: all that a subagent may have. */
  readonly tools: readonly string[] | null;
  /** `brief`: it gets a summary of the conversation. */
  readonly context: "none" | "brief";
}

/** A turn's access to subagents. */
export interface SubagentKit {
  /** Lines about the agent's open subagents; none if the read is too slow, and then none can be begun either. */
  lines(): Promise<readonly string[]>;
  /**
   * Starts a subagent, and waits a while for its result.
   * @returns the result for the model
   * @throws ToolFailure if it was not started
   */
  spawn(request: SpawnRequest, call: Pick<ToolContext, "callId" | "signal">): Promise<string>;
}

export const SUBAGENTS: FeatureKey<SubagentDesk, SubagentKit> = { name: "subagents" };
