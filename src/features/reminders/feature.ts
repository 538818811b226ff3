/**
 * Reminders: an agent, a person or a schedule of the configuration has something said in a channel at a time. `reminder-desk.ts` sets
 * them, `reminder-clock.ts` appends each occurrence to its channel's log when it is due, and a turn answers that as a message.
 */

import { randomUUID } from "node:crypto";
import { z } from "zod";
import { formatNumber } from "../../text/format.ts";
import { ToolFailure, defineTool } from "../../tools/tool.ts";
import type { Feature } from "../feature.ts";
import { describeReminder, remindCommand, remindersCommand } from "./commands.ts";
import { type ReminderKit, REMINDERS } from "./key.ts";
import { createReminderClock, type ReminderClock } from "./reminder-clock.ts";
import { ReminderDesk } from "./reminder-desk.ts";
import { planReminder, ReminderProblem, requestInWords } from "./reminder-plan.ts";
import { type AskedInTurn, ReminderStore } from "./reminder-store.ts";

/** Bounds are reported when they are exceeded: in the schema every request would pay for them. */
const Words = z.string();

/** `remind`: sets a reminder in this channel, once or repeatedly. */
const remind = defineTool({
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

export const reminders: Feature<ReminderDesk, ReminderKit> = {
  key: REMINDERS,
  toolsOf: ({ reminders: { enabled } }) => (enabled ? [remind] : []),
  commands: [
    { command: remindCommand, after: "why" },
    { command: remindersCommand, after: "remind" },
  ],
  async waiting(database) {
    const json = await new ReminderStore(database).countWaiting();
    const { count, nextAt } = json;
    return {
      json,
      line: (time) =>
        nextAt === null ? "none" : `${formatNumber(count)}, the next at ${time.minute(nextAt)}`,
    };
  },
  open(parts) {
    const store = new ReminderStore(parts.database);
    const desk = new ReminderDesk(store, parts.now);
    let clock: ReminderClock | undefined;
    return {
      service: desk,
      kitOf: ({ owner, agent, turn }) =>
        kitFor(desk, { owner, turn: turn.id, run: randomUUID() }, agent.config),
      work: (more) => (clock = createReminderClock({ ...parts, ...more, reminders: store, desk })),
      async list({ limit }) {
        const all = await store.all(limit + 1);
        return {
          label: "Reminders",
          lines: all.slice(0, limit).map((one) => ({ channel: one.address, text: describeReminder(one) })),
          isMore: all.length > limit,
          howTo: "/remind in a channel sets one, as agents do and [[agents.schedules]] in config.toml.",
        };
      },
      [Symbol.asyncDispose]: async () => clock?.[Symbol.asyncDispose](),
    };
  },
};

/** @param asked the turn, and one run of it */
function kitFor(
  desk: ReminderDesk,
  asked: Omit<AskedInTurn, "callId">,
  { timeZone }: { readonly timeZone: string },
): ReminderKit {
  return {
    async set(request, callId) {
      try {
        const read = await requestInWords(request, timeZone, desk.now);
        return await desk.setInTurn({ ...asked, callId }, planReminder(read, timeZone, desk.now));
      } catch (error) {
        if (error instanceof ReminderProblem) throw new ToolFailure(error.message);
        throw error;
      }
    },
  };
}
