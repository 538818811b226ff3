import type { Reminder } from "../../store/reminders/reminders.ts";
import { MOST_COUNTED } from "../../async/occurrences.ts";
import { displayName, sliceWhole } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";

/** Later than this it is told as late, ms: the machine was asleep, or no daemon ran. */
const LATE_MS = 120_000;
/** A name is at most so long where it is shown. */
const LONGEST = 80;

/** An occurrence that is told: when it was due, and how many before it were never told. */
export interface Told {
  readonly due: Date;
  readonly missed: number;
}

/**
 * What the model reads of an occurrence before its text, in place of a person's name: `reminder 3, set by Ann, is due now`. Pure.
 * @param graceMs so long after its time it is told as late, and then as missed
 */
export function reminderTitle(
  { id, asker, schedule }: Pick<Reminder, "id" | "asker" | "schedule">,
  { due, missed }: Told,
  { now, graceMs, time }: { readonly now: Date; readonly graceMs: number; readonly time: TimeFormat },
): string {
  const lateMs = now.getTime() - due.getTime();
  const when =
    lateMs <= LATE_MS
      ? " is due now"
      : lateMs <= graceMs
        ? ` was due ${time.minute(due)}, late`
        : ` was missed at ${time.minute(due)}`;
  const count = missed >= MOST_COUNTED ? `${MOST_COUNTED} or more` : String(missed);
  const others = missed === 0 ? "" : `, ${count} missed before`;
  const kind = schedule === null ? `reminder ${id}` : "schedule ";
  const name = schedule ?? (asker === null ? "" : asker.name);
  const by = schedule === null && name !== "" ? ", set by " : "";
  const comma = by === "" ? "" : ",";
  const room = LONGEST - kind.length - by.length - comma.length - when.length - others.length;
  return `${kind}${by}${sliceWhole(name === "" ? "" : displayName(name), 0, Math.max(0, room))}${comma}${when}${others}`;
}
