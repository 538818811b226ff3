import { range, type TurnTexts } from "../../admin/reports/turn-context.ts";
import { OperatorError } from "../../core/errors.ts";
import { formatAddress, turnId, type TurnId } from "../../core/ids.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Store } from "../../store/store.ts";
import { displayable } from "../../text/displayable.ts";
import type { TimeFormat } from "../../text/time.ts";
import { formatEntry } from "../log.ts";
import { type ContextRecord, KEPT_RECORDS } from "../../store/turns/context-records.ts";

/**
 * The record of a turn.
 * @param wanted a turn's number, or `last`
 * @throws OperatorError if it is not kept, with the turns that are
 */
export async function findTurn(
  store: Pick<Store, "contextRecords">,
  channel: ChannelRow,
  wanted: string,
): Promise<ContextRecord> {
  const turn = parseTurn(wanted);
  const record = await store.contextRecords.find(channel.id, turn);
  if (record !== undefined) return record;
  const kept = await store.contextRecords.list(channel.id);
  const which = turn === null ? "any turn" : `turn ${turn}`;
  const list = kept.map((one) => `${one.turn} (${one.at.toISOString()})`).join(", ");
  const why = `The newest ${KEPT_RECORDS} turns are kept; a deletion, an edit or /forget takes those that may have seen the text.`;
  throw new OperatorError(
    `Of ${which} of ${formatAddress(channel.address)} no context is kept. ${why} ` +
      (list === "" ? "At present there is none." : `Kept are: ${list}.`),
  );
}

/** @returns null: the last one */
function parseTurn(wanted: string): TurnId | null {
  if (wanted === "last") return null;
  const [, digits] = /^#?([1-9]\d{0,14})$/.exec(wanted) ?? [];
  if (digits !== undefined) return turnId(Number(digits));
  throw new OperatorError(
    `--turn takes the number of a turn, or last; ${JSON.stringify(wanted.slice(0, 60))} is neither.`,
  );
}

/** The texts of a turn's context as they read now. Pure. */
export function formatTurnTexts(texts: TurnTexts, channel: ChannelRow, time: TimeFormat): string {
  const summaries = texts.summaries.flatMap(({ compaction, fromSeq, toSeq, text }) => [
    `  summary of entries ${range(fromSeq, toSeq)}${compaction === null ? "" : ` (#${compaction})`}:`,
    ...displayable(text ?? "(it is not known any more)")
      .trim()
      .split("\n")
      .map((line) => `    ${line}`.trimEnd()),
  ]);
  const entries = texts.entries.map((entry) => formatEntry(entry, channel, time));
  return ["As it reads now, deletions and edits since then included:", ...summaries, ...entries].join("\n");
}
