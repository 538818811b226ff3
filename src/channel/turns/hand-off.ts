import type { HandOffChain } from "../../core/entry.ts";
import { answeredMessages, type History, type TurnRange } from "../../core/history.ts";
import type { AgentId } from "../../core/ids.ts";
import { isDueWork, OWN_AUTHOR } from "../../core/message.ts";
import { memberNamed, type Team } from "../../core/team.ts";
import type { LoggedMessage } from "../../store/log/message-rows.ts";
import { storableText } from "../../text/text.ts";
import { type HandOff, ToolFailure, type ToolKit } from "../../tools/tool.ts";

const MOST_HOPS = 4;

const FURTHEST =
  `This was handed over ${MOST_HOPS} times already, and goes no further. Answer it yourself, in a plain sentence, ` +
  "with what you know, or say who could answer it.";

/** Lets a turn's agent hand over to another agent of the channel. The settlement decides whether it happens. */
export function handingOver(team: Team, turn: TurnRange, history: () => History): ToolKit["handOff"] {
  return async ({ agent: wanted, message }): Promise<HandOff> => {
    const self = turn.agent ?? null;
    const to = memberNamed(team, wanted);
    const others = team.filter(({ agent }) => agent !== self).map(({ names }) => names[0]);
    if (to === undefined)
      throw new ToolFailure(`There is no such agent here. There are: ${others.join(", ") || "no others"}.`);
    if (to.agent === self)
      throw new ToolFailure(`That is you. Answer yourself, or hand over to: ${others.join(", ")}.`);
    if (chainOf(history(), turn).hop > MOST_HOPS) throw new ToolFailure(FURTHEST);
    return { kind: "hand_off", to: to.agent, name: to.name, message: storableText(message) };
  };
}

/** The chain of hand-offs that a turn continues. A person's message begins a new chain. Pure. */
function chainOf(history: History, turn: TurnRange): HandOffChain {
  const asked = answeredMessages(history, turn);
  const isAskedAnew = asked.some(({ messageId }) => !isDueWork(messageId));
  const chain = isAskedAnew ? undefined : asked.findLast((one) => one.chain !== undefined)?.chain;
  return chain === undefined ? { id: turn.id, hop: 1 } : { id: chain.id, hop: chain.hop + 1 };
}

/**
 * The entry of a hand-off, due for the other agent. Its id derives from the turn's, so that it is appended once. Pure.
 * @param names names of the agents
 */
export function handedOver(
  { to, message }: HandOff,
  turn: TurnRange,
  history: History,
  { at, nameOf }: { readonly at: Date; readonly nameOf: (agent: AgentId | null) => string },
): LoggedMessage {
  return {
    id: `handoff/${turn.id}/1`,
    author: {
      id: OWN_AUTHOR,
      name: `handed over by ${nameOf(turn.agent ?? null)} to ${nameOf(to)}`,
      isBot: true,
    },
    text: message,
    at,
    addressed: true,
    ...(to !== null && { agent: to }),
    chain: chainOf(history, turn),
  };
}
