import { planReminder, ReminderProblem } from "./reminder-plan.ts";
import type { Reminder, ReminderRequest } from "./reminder-store.ts";
import { displayableLine } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import { readSaidTime } from "../../text/dates.ts";
import { describeRecurrence } from "../../text/recurrences.ts";
import { createTimeFormat } from "../../text/time.ts";
import { parseSpan } from "../../text/when.ts";
import { REMINDERS } from "./key.ts";
import {
  type AskedCommand,
  type Command,
  type CommandParts,
  ownsPlace,
  placeName,
  zoneOf,
} from "../../admin/commands/command.ts";
import type { Typed } from "../../admin/commands/permissions.ts";
import { keptMessage } from "../../admin/commands/kept-message.ts";

export const remindCommand: Command = {
  name: "remind",
  help: "have the agent say something here at a time",
  isCommon: true,
  argument: {
    name: "what",
    form: "in 20m TEXT | tomorrow at 9 TEXT | every monday at 9 TEXT | 2026-12-01 09:00 TEXT",
    help: "when, and what",
  },
  form: { title: "Remind", label: "When, and what: tomorrow at 9 TEXT", maxLength: 1000, opensAlone: true },
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
  const { waker, agentOf, now, serviceOf } = parts;
  const zone = zoneOf({ agentOf }, channel);
  const asked = await readRemind(argument, zone, now());
  if (asked === null) return howTo(typed);
  if ("problem" in asked) return displayableLine(`This cannot be set: ${asked.problem}.`);
  try {
    const plan = planReminder(asked.request, zone, now());
    const message = await keptMessage(parts, command, `/remind ${argument.replaceAll(/\s+/g, " ")}`);
    const { told, id, seq } = await serviceOf(REMINDERS).setByCommand(channel, message, plan);
    void waker.mention(channel.id, seq);
    return [told, ...asked.notes, `${typed(`reminders cancel ${id}`)} ends it.`].join(" ");
  } catch (error) {
    if (!(error instanceof ReminderProblem)) throw error;
    const readAs = asked.readAs === null ? "" : ` Your words were read as ${asked.readAs}.`;
    return displayableLine(error.message + readAs);
  }
}

function howTo(typed: Typed): string {
  const forms = [
    "in 20m",
    "18:30",
    "tomorrow at 9",
    "next friday 14:00",
    "every monday at 9",
    "on the 1st of each month",
    "2026-12-01 09:00",
    'cron "0 9 * * 1-5"',
  ];
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

/** What `/remind` asks for, with what the asker must know of how it was read. */
interface AskedReminder {
  readonly request: ReminderRequest;
  readonly notes: readonly string[];
  /** The time that its words were read as; null: it was typed in one of the fixed forms. */
  readonly readAs: string | null;
}

/**
 * The forms of {@link parseRemind}, and times as people say them.
 * @param zone a valid IANA name
 * @returns null: the text names no time
 */
async function readRemind(
  argument: string,
  zone: string,
  now: Date,
): Promise<AskedReminder | { readonly problem: string } | null> {
  const strict = parseRemind(argument);
  const isPlain = strict !== null && (strict.cron !== undefined || !isWordsOfTime(strict));
  const found = isPlain ? null : await readSaidTime(argument, zone, now);
  // `18:30 go home`: the words after the time are no part of it.
  const isLonger = (rest: string): boolean =>
    strict?.in !== undefined || rest.length < (strict?.text ?? argument).length;
  const isSaid = found !== null && ("problem" in found || isLonger(found.rest));
  if (!isSaid) return strict === null ? null : { request: strict, notes: [], readAs: null };
  if ("problem" in found) return found;
  const { at, cron, rest: text } = found;
  const notes = [
    ...(found.isDayOnly ? ["No time of day was said: it is 9:00."] : []),
    ...(found.isAmbiguous ? ["The date is read as month/day."] : []),
    ...(found.isDayOnly || found.isAmbiguous
      ? [`For another time, end it, and say ${cron === null ? "2026-12-01 18:30" : "every day at 18:30"}.`]
      : []),
  ];
  return { request: { ...(at === null ? { cron: cron ?? "" } : { at }), text }, notes, readAs: at ?? cron };
}

/** Whether there may be more of the time than was read: "9:00 tomorrow", "9:00 pm", "in 2 Stunden". */
function isWordsOfTime({ at, in: span }: ReminderRequest): boolean {
  if (span !== undefined) return parseSpan(span) === null;
  return at !== undefined && /^\d{1,2}:\d{2}$/.test(at);
}

async function reminders(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument, typed } = command;
  const { store } = parts.serviceOf(REMINDERS);
  const waiting = await store.waiting(channel.id);
  if (argument === "") return listOf(waiting, placeName(channel), typed);
  const [, number] = /^(?:cancel|delete|stop)\s+#?(\d{1,15})$/i.exec(argument) ?? [];
  if (number === undefined) return `This is ${typed("reminders")} or ${typed("reminders cancel NUMBER")}.`;
  const found = waiting.find(({ id }) => id === Number(number));
  if (found === undefined) return `No reminder ${number} waits in ${placeName(channel)}.`;
  if (found.schedule !== null)
    return `The schedule "${found.schedule}" stands in config.toml: whoever runs Weir ends it there.`;
  if (found.asker?.id !== command.asker.id && !ownsPlace(parts, command))
    return `Reminder ${number} is somebody else's: they may end it, or an owner.`;
  const isEnded = await store.cancel(channel.id, found.id);
  return isEnded ? `Reminder ${number} is cancelled.` : `Reminder ${number} does not wait any more.`;
}

function listOf(waiting: readonly Reminder[], place: string, typed: Typed): string {
  if (waiting.length === 0) return `No reminder waits in ${place}. ${typed("remind")} says how to set one.`;
  return [
    `${counted(waiting.length, "reminder")} in ${place}:`,
    ...waiting.map((one) => `- ${describeReminder(one)}`),
    `${typed("reminders cancel NUMBER")} ends one.`,
  ].join("\n");
}

/** `#3 Tuesday 2026-12-01 09:00 UTC for Ann: water the plants`. Pure. */
export function describeReminder({ id, due, cron, timeZone, text, asker, schedule }: Reminder): string {
  const again = cron === null ? "" : `, then ${displayableLine(describeRecurrence(cron))}`;
  const whose =
    schedule === null
      ? asker === null
        ? ""
        : ` for ${displayableLine(asker.name)}`
      : ` by config.toml ("${schedule}")`;
  return `#${id} ${createTimeFormat(timeZone).full(due)}${again}${whose}: ${displayableLine(text)}`;
}
