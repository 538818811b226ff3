import { LONGEST_REMINDER } from "./declaration.ts";
import type { ReminderPlan, ReminderRequest } from "./reminder-store.ts";
import { cronProblem, nextOccurrence } from "../../async/occurrences.ts";
import { formatNumber } from "../../text/format.ts";
import { storableText } from "../../text/text.ts";
import { readSaidTime } from "../../text/dates.ts";
import { isTimeZone, parseSpan, whenAt, whenIn } from "../../text/when.ts";

/** Turns the time of a requested reminder into a plan. */

/** Examples of times, for errors. */
const EXAMPLES = '20m, 18:30, 2026-12-01 09:00, or as cron "0 9 * * 1-5"';

const LONGEST_TIME = 100;

/** A reminder that cannot be set; the message gives the reason to the asker. */
export class ReminderProblem extends Error {}

/**
 * @param ownZone the agent's time zone, for times without one
 * @throws ReminderProblem with a sentence for models and people
 */
export function planReminder(
  { at, in: span, cron, timeZone, text: words }: ReminderRequest,
  ownZone: string,
  now: Date,
): ReminderPlan {
  const text = storableText(words).trim();
  if (text === "") throw new ReminderProblem("A reminder says something: its text is missing.");
  if (text.length > LONGEST_REMINDER)
    throw new ReminderProblem(
      `A reminder has at most ${formatNumber(LONGEST_REMINDER)} characters, and this has ${formatNumber(text.length)}. Say it shorter.`,
    );
  const zone = (timeZone ?? "").trim() || ownZone;
  if (!isTimeZone(zone))
    throw new ReminderProblem('That is no time zone. It is an IANA name, such as "Europe/Berlin".');
  const given = [at, span, cron].filter((one) => one !== undefined && one.trim() !== "");
  if (given.length !== 1 || given.some((one) => one !== undefined && one.length > LONGEST_TIME))
    throw new ReminderProblem(`Say one time, as at, in or cron. Examples: ${EXAMPLES}.`);
  if (cron !== undefined && cron.trim() !== "") {
    const problem = cronProblem(cron, zone, now);
    const first = problem === null ? nextOccurrence({ cron, timeZone: zone }, now) : null;
    if (first === null) throw new ReminderProblem(`This cannot be set: ${problem ?? "it never comes"}.`);
    return { at: first, cron, timeZone: zone, text };
  }
  const when = span === undefined || span.trim() === "" ? whenAt(at ?? "", zone, now) : whenIn(span, now);
  if ("problem" in when)
    throw new ReminderProblem(`This cannot be set: ${when.problem}. Examples: ${EXAMPLES}.`);
  return { at: when.at, cron: null, timeZone: zone, text };
}

/**
 * A request whose time may be in the words of people ("every monday at 9"), with that time in the forms of {@link planReminder}.
 * @throws ReminderProblem if its words cannot be kept
 */
export async function requestInWords(
  request: ReminderRequest,
  ownZone: string,
  now: Date,
): Promise<ReminderRequest> {
  const { at, in: span, cron, timeZone, text } = request;
  const [words, ...more] = [at, span, cron].filter((one) => one !== undefined && one.trim() !== "");
  const zone = (timeZone ?? "").trim() || ownZone;
  if (words === undefined || more.length > 0 || words.length > LONGEST_TIME || !isTimeZone(zone))
    return request;
  const isRead =
    words === cron ? !/\p{L}{4}/u.test(words) : parseSpan(words) !== null || "at" in whenAt(words, zone, now);
  if (isRead) return request;
  const found = await readSaidTime(words, zone, now);
  if (found === null) return request;
  if ("problem" in found) throw new ReminderProblem(`This cannot be set: ${found.problem}.`);
  if (found.rest !== "") return request;
  return { text, timeZone, ...(found.at === null ? { cron: found.cron ?? "" } : { at: found.at }) };
}
