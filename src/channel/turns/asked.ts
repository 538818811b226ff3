import { steadyNow } from "../../async/clock.ts";
import { dueMessages, type History, type TurnRange } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";
import { isOwnId } from "../../core/message.ts";
import { decidedIn } from "./turn-approvals.ts";

export interface AnsweredMessages {
  readonly inReplyTo: string[];
  readonly acceptedAt: Date;
  /** Messages that still have a text. */
  readonly count: number;
  /** The approvals whose decisions these messages report. */
  readonly approvals: readonly number[];
}

/** @param accepted the times at which messages became durable, if this process knows them */
export function askedBy(
  history: History,
  turn: Pick<TurnRange, "toSeq">,
  accepted: ReadonlyMap<Seq, Date>,
): AnsweredMessages {
  const messages = dueMessages(history).filter(({ seq }) => seq <= turn.toSeq);
  const times = messages.map(({ seq }) => accepted.get(seq) ?? new Date(steadyNow()));
  const acceptedAt = times.toSorted((a, b) => a.getTime() - b.getTime())[0] ?? new Date(steadyNow());
  const count = messages.filter(({ deleted }) => !deleted).length;
  const inReplyTo = messages.map(({ messageId }) => messageId).filter((id) => !isOwnId(id));
  return { inReplyTo, acceptedAt, count, approvals: decidedIn(messages) };
}
