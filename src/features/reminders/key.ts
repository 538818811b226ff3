import type { FeatureKey } from "../../core/feature-key.ts";
import type { ReminderDesk } from "./reminder-desk.ts";
import type { ReminderRequest } from "./reminder-store.ts";

/** What the tool may do in a turn. */
export interface ReminderKit {
  /**
   * Sets a reminder in the turn's channel.
   * @returns the result for the model
   * @throws ToolFailure if it was not set
   */
  set(request: ReminderRequest, callId: string): Promise<string>;
}

export const REMINDERS: FeatureKey<ReminderDesk, ReminderKit> = { name: "reminders" };
