import type { Ledger } from "../ledger.ts";
import type { EntryRow, State } from "../observe.ts";
import type { ReminderRow } from "../reminder-rows.ts";
import type { RowCheck } from "./row-check.ts";

/** An occurrence of a reminder is told once, and none of one that was over before. */
export const checkI22: RowCheck = (before, { reminders, entries }, ledger) => {
  const known = new Map(before?.reminders.map((one) => [one.id, one]));
  return [
    ...entries.flatMap((entry) => toldWrongly(entry, reminders, ledger)),
    ...reminders.flatMap((one) => [
      ...faultsOf(one, known.get(one.id)),
      ...lost(one, known.get(one.id), ledger),
    ]),
  ];
};

function toldWrongly(
  { seq, reminds, message_id: messageId }: EntryRow,
  reminders: readonly ReminderRow[],
  { reminded }: Ledger,
): string[] {
  if (reminds === null) return [];
  const { id, is_late: isLate } = reminds;
  const wrong: string[] = [];
  const row = reminders.find((one) => one.id === id);
  if (row === undefined) return [`entry ${seq} tells reminder ${id}, which is not there`];
  const due = Date.parse(messageId?.split("/")[2] ?? "");
  const told = reminded.get(id) ?? new Set();
  if (told.has(due) || (!row.recurs && told.size > 0))
    wrong.push(`entry ${seq} tells reminder ${id} once more`);
  reminded.set(id, told.add(due));
  if (isLate) wrong.push(`entry ${seq} tells reminder ${id}, which was ${row.state}`);
  if (row.next !== null && (!row.recurs || row.next <= due))
    wrong.push(`reminder ${id} is told by entry ${seq}, and due all the same`);
  return wrong;
}

function faultsOf({ id, state, text }: ReminderRow, before: ReminderRow | undefined): string[] {
  const wrong: string[] = [];
  if (before !== undefined && before.state !== "active" && state !== before.state)
    wrong.push(`reminder ${id} was ${before.state}, and is ${state}`);
  if (state !== "active" && text !== "")
    wrong.push(`reminder ${id} is ${state}, and its row tells "${text}"`);
  return wrong;
}

/** One moves on in the moment in which it is told; of what was missed meanwhile the last is told. */
function lost(
  { id, state, next }: ReminderRow,
  before: ReminderRow | undefined,
  { reminded }: Ledger,
): string[] {
  const told = reminded.get(id) ?? new Set();
  if (state === "done" && told.size === 0) return [`reminder ${id} is done, and was never told`];
  const due = before?.next ?? null;
  if (due === null || next === null || next <= due) return [];
  const isTold = [...told].some((at) => at >= due && at < next);
  return isTold ? [] : [`reminder ${id} has moved on from ${toTime(due)}, which was not told`];
}

/** Where nothing is left to do, all that was due is told. @returns what is not */
export function unreminded(state: State | null, now: number): string[] {
  return (state?.reminders ?? []).flatMap(({ id, next }) =>
    next !== null && next <= now ? [`reminder ${id} is due since ${toTime(next)}`] : [],
  );
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
