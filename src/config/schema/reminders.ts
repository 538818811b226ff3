import { z } from "zod";
import { CRON_EXPECTED } from "../../async/occurrences.ts";
import { LONGEST_REMINDER } from "../../core/reminder.ts";
import { HOUR_MS, flag, option, optionTexts, table, timeZone, whole } from "./values.ts";

export const reminders = table(
  "….reminders",
  {
    enabled: option(
      flag,
      true,
      "true: the agent can set reminders when somebody asks for one. false: it has no tool for that; /remind and schedules stay.",
    ),
    grace_ms: option(
      whole(0, 31 * 24 * HOUR_MS, "milliseconds"),
      24 * HOUR_MS,
      "What came due while Weir was not running is told late for so long (24 hours), and then as missed.",
    ),
  },
  "What the agent does at a time that somebody has named.",
);

/** One of `[[agents.schedules]]`. */
export const scheduleSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9 _-]{0,39}$/)
    .describe('a name of at most 40 letters, digits, spaces, - and _, such as "standup"')
    .register(optionTexts, {
      about: "Its name, which no other schedule of the agent has: by it a changed schedule is known again.",
      shown: "standup",
    }),
  cron: z.string().trim().min(1).max(100).describe(CRON_EXPECTED).register(optionTexts, {
    about: "When: minute, hour, day of the month, month, day of the week; at most every five minutes.",
    shown: "0 9 * * 1-5",
  }),
  time_zone: option(
    z
      .union([timeZone, z.literal("agent")])
      .describe('an IANA time zone such as "Europe/Berlin", or "agent" for the agent\'s own'),
    "agent",
    'Its time zone. "agent" is the agent\'s time_zone.',
  ),
  channel: z
    .string()
    .trim()
    .max(300)
    .regex(/^[a-z]+:\S/)
    .describe('the address of a channel, as "discord:1234567890" or "slack:C012345"')
    .register(optionTexts, {
      about:
        "Where: the channel's address. Somebody must have spoken there, and this agent must be the one that answers there.",
      shown: "discord:123456789012345678",
    }),
  text: z
    .string()
    .trim()
    .min(1)
    .max(LONGEST_REMINDER)
    .describe(`what the agent is to do then: at most ${LONGEST_REMINDER} characters`)
    .register(optionTexts, {
      about: "What the agent is to do then, in your words.",
      shown: "Ask who is stuck on what.",
    }),
});
