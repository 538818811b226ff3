/**
 * Several agents in one channel. They are no slice of `features`: which agent a message is for and a turn is by stands in the log, so the
 * router, the fold, the renderer, the settlement and deletions need it, and so do slices.
 */

import type { AgentId } from "../core/ids.ts";
import type { Team } from "../core/team.ts";
import type { Agent } from "../turn/agent.ts";

export interface Guests {
  readonly team: Team;
  /** An agent that answers there; undefined: it does not. */
  agent(id: AgentId): Agent | undefined;
  /** An agent's name for people; the id of an agent that is no longer configured. */
  readonly nameOf: (id: AgentId) => string;
}

/** The guest that answers messages for an agent; undefined: the channel's own agent, also if that guest no longer answers. Pure. */
export function answererOf(guests: Pick<Guests, "agent">, agent: AgentId | undefined): AgentId | undefined {
  return agent === undefined || guests.agent(agent) === undefined ? undefined : agent;
}

/** An agent of a channel by its id; undefined: it does not answer there. Pure. */
export function agentHere(own: Agent, guests: Pick<Guests, "agent">, id: AgentId): Agent | undefined {
  return id === own.config.id ? own : guests.agent(id);
}

/** All agents that answer in a channel, its own first. Pure. */
export function agentsHere(own: Agent, { team, agent }: Pick<Guests, "team" | "agent">): Agent[] {
  return [own, ...team.flatMap((member) => (member.agent === null ? [] : (agent(member.agent) ?? [])))];
}

export const NO_GUESTS: Guests = { team: [], agent: () => undefined, nameOf: (id) => id };
