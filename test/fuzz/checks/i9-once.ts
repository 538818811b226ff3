import type { RowCheck } from "./row-check.ts";

/** A message is answered by one message at most, however often its turn was begun. */
export const checkI9: RowCheck = (_, __, ledger) =>
  ledger.chat.answeredTwice.splice(0).map((id) => `message ${id} has two answers`);
