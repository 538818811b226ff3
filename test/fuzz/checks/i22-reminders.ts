import type { Ledger } from "../ledger.ts";
import type { EntryRow, State } from "../observe.ts";
import type { ReminderRow } from "../reminder-rows.ts";
import type { RowCheck } from "./row-check.ts";

/** An occurrence of a reminder is told once, and none of one that was over before. */
export const checkI22: RowCheck = (before, { reminders, entries }, ledger) => {
  const known = new Map(before?.reminders.map((one) => [one.id, one]));
  return [
    ...entries.flatMap((entry) => toldWrongly(entry, reminders, ledger)),
    ...reminders.flatMap((one) => faultsOf(one, known.get(one.id))),
  ];
};

function toldWrongly(
  { seq, reminds, message_id: messageId }: EntryRow,
  reminders: readonly ReminderRow[],
  { reminded }: Ledger,
): string[] {
  if (reminds === null) return [];
  const { id, at } = reminds;
  const wrong: string[] = [];
  const row = reminders.find((one) => one.id === id);
  if (row === undefined) return [`entry ${seq} tells reminder ${id}, which is not there`];
  const due = Date.parse(messageId?.split("/")[2] ?? "");
  const told = reminded.get(id) ?? new Set();
  if (told.has(due) || (!row.recurs && told.size > 0))
    wrong.push(`entry ${seq} tells reminder ${id} once more`);
  reminded.set(id, told.add(due));
  if (row.ended !== null && at > row.ended)
    wrong.push(`entry ${seq} tells reminder ${id}, which was ${row.state}`);
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

/** Where nothing is left to do, all that was due is told. @returns what is not */
export function unreminded(state: State | null, { reminded }: Ledger, now: number): string[] {
  return (state?.reminders ?? []).flatMap(({ id, state: stage, next }) => {
    if (next !== null && next <= now) return [`reminder ${id} is due since ${new Date(next).toISOString()}`];
    return stage === "done" && !reminded.has(id) ? [`reminder ${id} is done, and was never told`] : [];
  });
}
