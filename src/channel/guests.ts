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

export const NO_GUESTS: Guests = { team: [], agent: () => undefined, nameOf: (id) => id };
