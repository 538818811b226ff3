import { z } from "zod";
import { LONGEST_REMINDER } from "../core/reminder.ts";
import { defineTool } from "./tool.ts";

const When = z.string().trim().min(1).max(60).optional();

/** `remind`: something is said in this channel at a time, once or again and again. */
export const remind = defineTool({
  name: "remind",
  description: "tool-remind",
  input: z.strictObject({
    at: When,
    in: When,
    cron: When,
    time_zone: When,
    text: z.string().trim().min(1).max(LONGEST_REMINDER),
  }),
  async run({ time_zone: timeZone, ...request }, context) {
    const text = await context.setReminder({ ...request, timeZone, callId: context.callId });
    return { kind: "result", text, references: [] };
  },
});
