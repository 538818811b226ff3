import { planReminder, ReminderProblem } from "./reminder-plan.ts";
import type { Reminder } from "./reminder-store.ts";
import { displayableLine } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import { createTimeFormat } from "../../text/time.ts";
import { REMINDERS } from "./key.ts";
import type { ReminderRequest } from "./reminder.ts";
import {
  type AskedCommand,
  type Command,
  type CommandParts,
  placeName,
  zoneOf,
} from "../../admin/commands/command.ts";
import type { Typed } from "../../admin/commands/command-rule.ts";
import { keptMessage } from "../../admin/commands/kept-message.ts";
import { isOwner } from "../../admin/commands/permissions.ts";

export const remindCommand: Command = {
  name: "remind",
  help: "have the agent say something here at a time",
  isCommon: true,
  argument: {
    name: "what",
    form: 'in 20m TEXT | 18:30 TEXT | 2026-12-01 09:00 TEXT | cron "0 9 * * 1-5" TEXT',
    help: "when, and what",
  },
  allowed: "everybody",
  keepsMessage: true,
  run: remind,
};

export const remindersCommand: Command = {
  name: "reminders",
  help: "what is to come here, or end one of them",
  argument: { name: "what", form: "cancel NUMBER", help: "end this one; alone: the list" },
  allowed: "everybody",
  run: reminders,
};

/** `/remind WHEN TEXT`: the message is stored, and its deletion deletes the reminder. */
async function remind(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument, typed } = command;
  const request = parseRemind(argument);
  if (request === null) return howTo(typed);
  const { waker, agentOf, now, serviceOf } = parts;
  try {
    const plan = planReminder(request, zoneOf({ agentOf }, channel), now());
    const message = await keptMessage(parts, command, `/remind ${argument.replaceAll(/\s+/g, " ")}`);
    const { told, id, seq } = await serviceOf(REMINDERS).setByCommand(channel, message, plan);
    void waker.mention(channel.id, seq);
    return `${told} ${typed(`reminders cancel ${id}`)} ends it.`;
  } catch (error) {
    if (error instanceof ReminderProblem) return displayableLine(error.message);
    throw error;
  }
}

function howTo(typed: Typed): string {
  const forms = ["in 20m", "18:30", "tomorrow 9:00", "2026-12-01 09:00", 'cron "0 9 * * 1-5"'];
  return [
    "Say when, and then what. For example:",
    ...forms.map((form) => typed(`remind ${form} water the plants`)),
  ].join("\n");
}

const QUOTED =
  /^cron\s+["'\u201c\u201d\u2018\u2019\u201e`]([^"'\u201c\u201d\u2018\u2019\u201e`]*)["'\u201c\u201d\u2018\u2019\u201e`]\s+(\S.*)$/isu;
const FIVE_FIELDS = /^cron\s+((?:[\d*,/a-z#?-]+\s+){5})(\S.*)$/isu;
const IN = /^in\s+((?:\d{1,6}\s*[a-z]+[\s,]+(?:and\s+)?)+)(\S.*)/isu;
const AT =
  /^(?:at\s+)?(\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?|(?:tomorrow\s+(?:at\s+)?)?\d{1,2}:\d{2})\s+(\S.*)$/isu;

/**
 * `in 20m TEXT`, `18:30 TEXT`, `2026-12-01 09:00 TEXT`, `cron "0 9 * * 1-5" TEXT`. Pure.
 * @returns null: the text has none of these forms
 */
export function parseRemind(argument: string): ReminderRequest | null {
  const said = argument.trim();
  const [, cron, cronText] = QUOTED.exec(said) ?? FIVE_FIELDS.exec(said) ?? [];
  if (cron !== undefined && cronText !== undefined) return { cron: cron.trim(), text: cronText };
  const [, span, spanText] = IN.exec(said) ?? [];
  if (span !== undefined && spanText !== undefined)
    return { in: span.replace(/(?<![\s,])[\s,]+$/, ""), text: spanText };
  const [, at, text] = AT.exec(said) ?? [];
  return at === undefined || text === undefined ? null : { at, text };
}

/** `/reminders`, `/reminders cancel 3` */
async function reminders(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument, typed } = command;
  const desk = parts.serviceOf(REMINDERS);
  const waiting = await desk.waiting(channel.id);
  if (argument === "") return listOf(waiting, placeName(channel), typed);
  const [, number] = /^(?:cancel|delete|stop)\s+#?(\d{1,15})$/i.exec(argument) ?? [];
  if (number === undefined) return `This is ${typed("reminders")} or ${typed("reminders cancel NUMBER")}.`;
  const found = waiting.find(({ id }) => id === Number(number));
  if (found === undefined) return `No reminder ${number} waits in ${placeName(channel)}.`;
  if (found.schedule !== null)
    return `The schedule "${found.schedule}" stands in config.toml: whoever runs Weir ends it there.`;
  if (!mayCancel(parts, command, found))
    return `Reminder ${number} is somebody else's: they may end it, or an owner.`;
  const isEnded = await desk.cancel(channel.id, found.id);
  return isEnded ? `Reminder ${number} is cancelled.` : `Reminder ${number} does not wait any more.`;
}

function mayCancel(
  { owners }: CommandParts,
  { channel, asker }: AskedCommand,
  { asker: by }: Reminder,
): boolean {
  const { address, kind, workspace } = channel;
  return by?.id === asker.id || isOwner(asker, { platform: address.platform, kind, workspace }, owners);
}

/** Pure. */
function listOf(waiting: readonly Reminder[], place: string, typed: Typed): string {
  if (waiting.length === 0) return `No reminder waits in ${place}. ${typed("remind")} says how to set one.`;
  const lines = waiting.map(({ id, due, cron, timeZone, text, asker, schedule }) => {
    const again = cron === null ? "" : `, then as "${displayableLine(cron)}" says`;
    const whose =
      schedule === null
        ? asker === null
          ? ""
          : ` for ${displayableLine(asker.name)}`
        : ` by config.toml ("${schedule}")`;
    return `- #${id} ${createTimeFormat(timeZone).full(due)}${again}${whose}: ${displayableLine(text)}`;
  });
  return [
    `${counted(waiting.length, "reminder")} in ${place}:`,
    ...lines,
    `${typed("reminders cancel NUMBER")} ends one.`,
  ].join("\n");
}
