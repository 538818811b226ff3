import type { RowCheck } from "./row-check.ts";

/** A message is answered by one message at most, however often its turn was begun. */
export const checkI9: RowCheck = (_, __, ledger) => {
  const answers = new Map<string, number>();
  for (const { final, inReplyTo } of ledger.chat.shown.values()) {
    if (!final) continue;
    for (const id of inReplyTo) answers.set(id, (answers.get(id) ?? 0) + 1);
  }
  return [...answers].flatMap(([id, count]) => (count > 1 ? [`message ${id} has ${count} answers`] : []));
};
