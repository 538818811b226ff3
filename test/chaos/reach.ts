import type { Card } from "./cards.ts";
import type { Row } from "./report.ts";

/** So often a point that chance can miss is dealt before a run that never came there is wrong. */
const FAIR_DEALS = 3;

/** Whether a process comes there hangs on how its compactions fall, or on what its predecessor left. */
function mayBeMissed(card: Card): boolean {
  return !("run" in card) && (card.traffic === "flood" || card.after !== undefined);
}

/**
 * A point that no process ever reached proves nothing of all its kills: a gate whose condition no row meets any more would
 * be green for ever. Each lane deals its share of the deck, and a card may cost two kills, so that fewer kills than that may
 * end before a card was dealt at all; of these nothing is said.
 * @returns each such point, in words
 */
export function unreached(
  cards: readonly Card[],
  rows: ReadonlyMap<string, Row>,
  { kills, lanes }: { readonly kills: number; readonly lanes: number },
): string[] {
  if (kills < cards.length) return [];
  const dearer = cards.filter((card) => "after" in card && card.after !== undefined).length;
  const isDeckDealt = kills >= cards.length + lanes * (1 + dearer);
  return cards.flatMap((card) => {
    const row = rows.get(card.name);
    if (row === undefined) return isDeckDealt ? [`${card.name} was never dealt`] : [];
    const isFair = row.kills >= (mayBeMissed(card) ? FAIR_DEALS : 1);
    return row.reached === 0 && isFair ? [`${card.name} was never reached in ${row.kills} kills`] : [];
  });
}
