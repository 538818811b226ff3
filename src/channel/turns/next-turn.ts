import { type Budget, partAt } from "../../context/usage.ts";
import { dueMessages, type History, type TurnRange } from "../../core/history.ts";
import type { UserEntry } from "../../core/entry.ts";
import { type AgentId, type Seq, type TurnId, turnId } from "../../core/ids.ts";
import type { RunningTurn } from "../../store/turns/turn-rows.ts";
import { steadyNow } from "../../async/clock.ts";
import { platformIdOf } from "../../core/message.ts";
import type { CallGates } from "../channel-context.ts";

/** Most messages that a turn reads at once. */
export const MAX_MESSAGES = 100;
/** Share of the usable window for the messages of one turn. */
export const MAX_SHARE = 0.4;

/**
 * Chooses the messages of the next turn: all that are due, or after an outage as many as leave room for an answer. If
 * several agents are asked, it takes the first agent's messages up to the first message for another agent, which keeps
 * the order of questions. Pure.
 * @param budget the first answering agent's
 * @param answerer the agent that answers messages for an agent
 */
export function nextTurn(
  history: History,
  budget: Budget,
  answerer: (agent: AgentId | undefined) => AgentId | undefined = (agent) => agent,
): Pick<TurnRange, "fromSeq" | "toSeq" | "agent"> | null {
  const due = dueMessages(history);
  const first = due[0];
  if (first === undefined) return null;
  const agent = answerer(first.agent);
  const limit = partAt(budget, MAX_SHARE);
  let toSeq = first.seq;
  let tokens = 0;
  let count = 0;
  // Messages between the due ones are shown too, so they count.
  for (const entry of history.entries) {
    if (entry.seq < first.seq || entry.kind !== "user") continue;
    if (entry.addressed && answerer(entry.agent) !== agent) break;
    tokens += entry.tokens;
    count++;
    if (count > 1 && (tokens > limit || count > MAX_MESSAGES)) break;
    if (entry.addressed) toSeq = entry.seq;
  }
  const chosen = { fromSeq: first.seq, toSeq };
  return agent === undefined ? chosen : { ...chosen, agent };
}

/**
 * The turn that began a turn of these messages, by a hand-off or by work that has ended; the first of several.
 * @param ofWork the turn that has begun the work whose end a message reports; null: it reports none
 * @returns null: the turn answers something new, such as a person's message
 */
export async function begunBy(
  asked: readonly Pick<UserEntry, "messageId">[],
  ofWork: (messageId: string) => Promise<TurnId | null>,
): Promise<TurnId | null> {
  let first: TurnId | null = null;
  for (const { messageId } of asked) {
    const [, handedOn] = /^handoff\/(\d+)/.exec(messageId) ?? [];
    const turn = handedOn === undefined ? await ofWork(messageId) : turnId(Number(handedOn));
    if (turn === null) return null;
    first ??= turn;
  }
  return first;
}

/**
 * Whether an earlier run of the turn called tools, or its messages release calls that were held back. Pure.
 * @param releases ids of those messages
 */
export function needsItsTools(
  { entries }: Pick<History, "entries">,
  { id, attempts }: Pick<RunningTurn, "id" | "attempts">,
  releases: readonly string[],
): boolean {
  if (releases.length > 0) return true;
  return attempts > 1 && entries.some((entry) => entry.kind === "tool_call" && entry.turnId === id);
}

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
