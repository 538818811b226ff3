import { randomUUID } from "node:crypto";
import type { TurnId } from "../../core/ids.ts";
import { ToolFailure, type ToolKit } from "../../tools/tool.ts";
import type { ActorParts } from "../channel-context.ts";
import { planReminder, ReminderProblem } from "../reminders/reminder-plan.ts";

/** What sets the reminders of one run of a turn. */
export function reminderSetter(
  { reminders, owner, agent }: Pick<ActorParts, "reminders" | "owner" | "agent">,
  turn: TurnId,
): ToolKit["setReminder"] {
  const run = randomUUID();
  return async ({ callId, ...request }) => {
    try {
      const plan = planReminder(request, agent.config.timeZone, reminders.now);
      return await reminders.setInTurn({ owner, turn, run, callId }, plan);
    } catch (error) {
      if (error instanceof ReminderProblem) throw new ToolFailure(error.message);
      throw error;
    }
  };
}
