import type { AgentId } from "../core/ids.ts";
import type { Team } from "../core/team.ts";
import type { Agent } from "../turn/agent.ts";

/** The other agents that answer in a channel. */
export interface Guests {
  readonly team: Team;
  /** An agent as it answers there; undefined: it does not, or not any more. */
  agent(id: AgentId): Agent | undefined;
  /** As people know it; of an agent that is not configured any more, its id. */
  readonly nameOf: (id: AgentId) => string;
}

/** Who answers what is meant for an agent; undefined: the channel's own, also for one that answers there no more. Pure. */
export function answererOf(guests: Pick<Guests, "agent">, agent: AgentId | undefined): AgentId | undefined {
  return agent === undefined || guests.agent(agent) === undefined ? undefined : agent;
}

/** An agent of a channel by its id; undefined: it does not answer there, or not any more. Pure. */
export function agentHere(own: Agent, guests: Pick<Guests, "agent">, id: AgentId): Agent | undefined {
  return id === own.config.id ? own : guests.agent(id);
}

/** All that answer in a channel, its own agent first. Pure. */
export function agentsHere(own: Agent, { team, agent }: Pick<Guests, "team" | "agent">): Agent[] {
  return [own, ...team.flatMap((member) => (member.agent === null ? [] : (agent(member.agent) ?? [])))];
}

export const NO_GUESTS: Guests = { team: [], agent: () => undefined, nameOf: (id) => id };
