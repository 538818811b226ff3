import { type Budget, partAt } from "../../context/usage.ts";
import { dueMessages, type History } from "../../core/history.ts";
import type { UserEntry } from "../../core/entry.ts";
import { type AgentId, type Seq, turnId } from "../../core/ids.ts";
import type { BegunBy, RunningTurn } from "../../store/turns/turn-rows.ts";

/** Most messages that one turn answers. */
const MAX_MESSAGES = 100;
/** Share of the usable window that the messages of one turn may take. */
const MAX_SHARE = 0.4;

/** The messages of a turn. */
export interface NextTurn {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** Who answers them; left out: the channel's own agent. */
  readonly agent?: AgentId;
}

/**
 * Chooses the messages of the next turn: all that are due, or, after an outage, as many as leave room for an answer. Where several
 * agents are asked, those of the first up to one for another: who has asked before is answered before. Pure.
 * @param budget of the agent that answers the first
 * @param answerer who answers what is meant for an agent
 */
export function nextTurn(
  history: History,
  budget: Budget,
  answerer: (agent: AgentId | undefined) => AgentId | undefined = (agent) => agent,
): NextTurn | null {
  const due = dueMessages(history);
  const first = due[0];
  if (first === undefined) return null;
  const agent = answerer(first.agent);
  const limit = partAt(budget, MAX_SHARE);
  let toSeq = first.seq;
  let tokens = 0;
  let count = 0;
  // Messages between them that need no answer are shown as well, and count.
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
 * The hand-off or ended subagent that began a turn of these messages; the first of several. Pure.
 * @returns undefined: the turn answers something new, such as a person's message
 */
export function begunBy(asked: readonly Pick<UserEntry, "messageId">[]): BegunBy | undefined {
  const all = asked.map(({ messageId }) => ownWork(messageId));
  return all.includes(undefined) ? undefined : all[0];
}

function ownWork(messageId: string): BegunBy | undefined {
  const [, kind, number] = /^(handoff|subagent)\/(\d+)/.exec(messageId) ?? [];
  if (kind === undefined) return undefined;
  return kind === "handoff" ? { turn: turnId(Number(number)) } : { subagent: Number(number) };
}

/**
 * An earlier run of the turn has called tools, or its messages release some that were held back. Pure.
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
