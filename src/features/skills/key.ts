import type { FeatureKey } from "../../core/feature-key.ts";
import type { ActiveSkillStore } from "./active-skill-store.ts";

export type SkillRequest =
  | { readonly kind: "activate" | "deactivate"; readonly name: string }
  | { readonly kind: "read"; readonly name: string; readonly file: string };

/** What the tools may do in a turn. */
export interface SkillKit {
  /**
   * Activates or deactivates a skill in the turn's channel, or reads a file of one.
   * @returns the result for the model
   * @throws ToolFailure if that is not possible
   */
  use(request: SkillRequest): Promise<string>;
}

export const SKILLS: FeatureKey<ActiveSkillStore, SkillKit> = { name: "skills" };
