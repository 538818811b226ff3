import type { AttachRequest } from "../../core/attached-file.ts";
import type { FeatureKey } from "../../core/feature-key.ts";
import type { TurnId } from "../../core/ids.ts";

/** What the tool may do in a turn. */
export interface AttachingKit {
  /**
   * Lets a file go out behind the turn's answer.
   * @param askedIn the turn whose results it may send
   * @returns the result for the model
   * @throws ToolFailure if it does not
   */
  attach(request: AttachRequest, askedIn: TurnId | undefined): Promise<string>;
}

export const ATTACHING: FeatureKey<null, AttachingKit> = { name: "files" };
