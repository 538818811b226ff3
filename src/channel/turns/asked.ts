import { steadyNow } from "../../async/clock.ts";
import { dueMessages, type History, type TurnRange } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";
import { platformIdOf } from "../../core/message.ts";
import type { CallGates } from "../channel-context.ts";

export interface AnsweredMessages {
  readonly inReplyTo: string[];
  readonly acceptedAt: Date;
  /** Messages that still have a text. */
  readonly count: number;
  /** Ids of those that release calls which were held back. */
  readonly releases: readonly string[];
}

/** @param accepted the times at which messages became durable, if this process knows them */
export function askedBy(
  history: History,
  turn: Pick<TurnRange, "toSeq">,
  accepted: ReadonlyMap<Seq, Date>,
  gates: Pick<CallGates, "releases">,
): AnsweredMessages {
  const messages = dueMessages(history).filter(({ seq }) => seq <= turn.toSeq);
  const times = messages.map(({ seq }) => accepted.get(seq) ?? new Date(steadyNow()));
  const acceptedAt = times.toSorted((a, b) => a.getTime() - b.getTime())[0] ?? new Date(steadyNow());
  const count = messages.filter(({ deleted }) => !deleted).length;
  const ids = messages.map(({ messageId }) => messageId);
  const inReplyTo = ids.flatMap((id) => platformIdOf(id) ?? []);
  return { inReplyTo, acceptedAt, count, releases: ids.filter((id) => gates.releases(id)) };
}
