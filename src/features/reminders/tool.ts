import { z } from "zod";
import { defineTool } from "../../tools/tool.ts";
import { REMINDERS } from "./key.ts";

/** Bounds are reported when they are exceeded: in the schema every request would pay for them. */
const Words = z.string();

/** `remind`: sets a reminder in this channel, once or repeatedly. */
export const remind = defineTool({
  name: "remind",
  shownAs: "Setting a reminder",
  leftOutBy: "reminders.enabled = false",
  input: z.strictObject({
    at: Words.optional(),
    in: Words.optional(),
    cron: Words.optional(),
    time_zone: Words.optional(),
    text: Words,
  }),
  async run({ time_zone: timeZone, ...request }, { kitOf, callId }) {
    const text = await kitOf(REMINDERS).set({ ...request, timeZone }, callId);
    return { kind: "result", text, references: [] };
  },
});
