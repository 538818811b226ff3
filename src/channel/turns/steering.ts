import { answeredMessages, type History, type TurnRange } from "../../core/history.ts";
import type { AgentId, Seq } from "../../core/ids.ts";
import type { UserEntry } from "../../core/entry.ts";
import { platformIdOf } from "../../core/message.ts";
import { EDGELESS_SCRIPTS } from "../../text/scripts.ts";
import { type Budget, partAt } from "../../context/usage.ts";
import { MAX_MESSAGES, MAX_SHARE } from "./next-turn.ts";

/** By whom a turn is steered, and how much it takes in. */
export interface Steerable {
  /** Name of the agent that answers. */
  readonly name: string;
  /** The agent that answers messages for an agent. */
  readonly answerer: (agent: AgentId | undefined) => AgentId | undefined;
  readonly budget: Budget;
}

/**
 * Finds the messages that a running turn takes in before its next request: those after its last one, up to the first that
 * is for another agent, or by another person without the agent's name. Pure.
 * @returns the last of them; null: none
 */
export function steeredTo(history: History, turn: TurnRange, by: Steerable): Seq | null {
  const people = new Set(answeredMessages(history, turn).map(({ author }) => author.id));
  const limit = partAt(by.budget, MAX_SHARE);
  let to: Seq | null = null;
  let tokens = 0;
  let count = 0;
  for (const entry of history.entries) {
    if (entry.kind !== "user" || entry.seq <= turn.toSeq) continue;
    tokens += entry.tokens;
    count++;
    if (tokens > limit || count > MAX_MESSAGES) break;
    if (!entry.addressed) continue;
    // A deleted one as well: it is another agent's to settle.
    if (!isMeant(entry, turn, by, people)) break;
    if (!entry.deleted) to = entry.seq;
  }
  return to;
}

/** Whether the turn has made calls: messages are taken in only behind their results. Pure. */
export function hasBegunWork({ entries }: Pick<History, "entries">, { id }: Pick<TurnRange, "id">): boolean {
  return entries.some((entry) => "turnId" in entry && entry.turnId === id);
}

function isMeant(
  { messageId, agent, author, text }: UserEntry,
  turn: TurnRange,
  { name, answerer }: Steerable,
  people: ReadonlySet<string>,
): boolean {
  // Work that has come due wants an answer of its own.
  if (platformIdOf(messageId) === null || answerer(agent) !== turn.agent) return false;
  return people.has(author.id) || saysName(text, name);
}

const IS_EDGELESS = new RegExp(`[${EDGELESS_SCRIPTS}]`, "u");

function saysName(text: string, name: string): boolean {
  // Words of such a script have no edges that could be looked for.
  if (IS_EDGELESS.test(name)) return text.toLowerCase().includes(name.toLowerCase());
  const words = (of: string): string =>
    ` ${
      of
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu)
        ?.join(" ") ?? ""
    } `;
  return name.trim() !== "" && words(text).includes(words(name));
}
