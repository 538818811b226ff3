import type { RowCheck } from "./row-check.ts";

/**
 * A message is answered by one message at most, however often its turn was begun; and nothing that befalls a run (crashes,
 * cut connections, rivals) is the turn's own fault, for which it would be given up.
 */
export const checkI9: RowCheck = (before, after, ledger) => [
  ...ledger.chat.answeredTwice.splice(0).map((id) => `message ${id} has two answers`),
  ...after.given_up.slice(before?.given_up.length ?? 0).map((why) => `a turn was given up: ${why}`),
];
