import { z } from "zod";
import { CRON_EXPECTED, cronProblem } from "../../async/occurrences.ts";
import type { ConfigProblem } from "../../config/config-error.ts";
import type { KeyPath } from "../../config/value-tree.ts";
import type { Declaration, OptionOrigin } from "../declaration.ts";
import { HOUR_MS, flag, option, optionTexts, table, timeZone, whole } from "../../config/schema/values.ts";

/** Longest text, in UTF-16 units. */
export const LONGEST_REMINDER = 1000;

/** A recurring text that the operator has written into the configuration. */
export interface Schedule {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly text: string;
}

const options = table(
  "….reminders",
  {
    enabled: option(flag, true, "true: the agent can set reminders. false: only /remind and schedules."),
    grace_ms: option(
      whole(0, 31 * 24 * HOUR_MS, "milliseconds"),
      24 * HOUR_MS,
      "How late a reminder may come that was due while Weir was away (a day). Later it is reported as " +
        "missed.",
    ),
  },
  "What the agent says at a time: docs/reminders.md.",
);

/** One of `[[agents.schedules]]`. */
const schedule = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9 _-]{0,39}$/)
    .describe('a name of at most 40 letters, digits, spaces, - and _, such as "standup"')
    .register(optionTexts, { about: "Its name, unique for the agent.", shown: "standup" }),
  cron: z.string().trim().min(1).max(100).describe(CRON_EXPECTED).register(optionTexts, {
    about: "When: minute, hour, day of the month, month, day of the week; at most every five minutes.",
    shown: "0 9 * * 1-5",
  }),
  time_zone: option(
    z
      .union([timeZone, z.literal("agent")])
      .describe('an IANA time zone such as "Europe/Berlin", or "agent" for the agent\'s own'),
    "agent",
    'Its time zone. "agent" is the agent\'s own.',
  ),
  channel: z
    .string()
    .trim()
    .max(300)
    .regex(/^[a-z]+:\S/)
    .describe('the address of a channel, as "discord:1234567890" or "slack:C012345"')
    .register(optionTexts, {
      about: "The channel's address. Somebody must have spoken there, and this agent must answer there.",
      shown: "discord:123456789012345678",
    }),
  text: z
    .string()
    .trim()
    .min(1)
    .max(LONGEST_REMINDER)
    .describe(`what the agent is to do then: at most ${LONGEST_REMINDER} characters`)
    .register(optionTexts, { about: "What the agent is to do then.", shown: "Ask who is stuck on what." }),
});

const schedules = z
  .array(schedule)
  .max(100)
  .describe("one or more [[agents.schedules]]")
  .default([])
  .register(optionTexts, {
    about:
      "What an agent does again and again, after its [[agents]]. A schedule that is taken out has ended.",
    samples: [
      {
        about: "",
        values: {
          name: "standup",
          cron: "0 9 * * 1-5",
          time_zone: "agent",
          channel: "discord:123456789012345678",
          text: "Ask who is stuck on what.",
        },
      },
    ],
  });

/** The schedules of an agent, each with the time zone that holds for it. Pure. */
export function schedulesOf<One extends Pick<Schedule, "timeZone">>(agent: {
  readonly schedules: readonly One[];
  readonly timeZone: string;
}): One[] {
  return agent.schedules.map((one) =>
    one.timeZone === "agent" ? { ...one, timeZone: agent.timeZone } : one,
  );
}

type Scheduled = Parameters<typeof schedulesOf<Pick<Schedule, "name" | "cron" | "timeZone">>>[0];

function check(agent: Scheduled, origin: OptionOrigin): ConfigProblem[] {
  const now = new Date();
  const names = new Set<string>();
  return schedulesOf(agent).flatMap(({ name, cron, timeZone: zone }, index) => {
    const isTaken = names.has(name);
    names.add(name);
    const at = (key: string): KeyPath => ["schedules", index, key];
    if (origin.isBroken([["schedules", index]])) return [];
    const wrong = cronProblem(cron, zone, now);
    return [
      ...(isTaken
        ? [
            origin.problem([at("name")], {
              message: `another schedule of the agent has the name "${name}"`,
              expected: "a name that no other schedule of the agent has",
            }),
          ]
        : []),
      ...(wrong === null
        ? []
        : [
            origin.problem([at("cron")], {
              message: "this cannot be a schedule",
              expected: CRON_EXPECTED,
              found: `${JSON.stringify(cron)}: ${wrong}`,
            }),
          ]),
    ];
  });
}

export const reminders = {
  options: { reminders: options },
  agentOptions: { schedules },
  tools: ["remind"],
  check,
} as const satisfies Declaration<Scheduled>;
