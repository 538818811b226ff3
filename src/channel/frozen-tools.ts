import { unlessAborted } from "../async/deadline.ts";
import type { Seq } from "../core/ids.ts";
import type { Agent } from "../turn/agent.ts";

/** An agent whose tools are the same bytes for a channel for as long as its prefix is. */
export interface FrozenTools {
  readonly agent: Agent;
  /**
   * To be called before a turn asks its model: within a turn its tools never change.
   * @param needsTools the turn has called tools before a restart cut it, or is to run calls that somebody has allowed
   */
  readonly renewTools: (needsTools: boolean, signal: AbortSignal) => Promise<void>;
}

/**
 * Tools stand in front of everything else in a request: another list makes the provider read all of it anew. So a channel keeps the
 * list that it had, until its prefix changes anyhow: when a summary is committed, or the channel is loaded. One exception: a server
 * of which it has nothing at all. That is one that was slow to start, and people would wait for its tools until the next summary.
 * @param coveredTo rises with each commit
 */
export function freezeTools(agent: Agent, coveredTo: () => Seq): FrozenTools {
  const { changingTools } = agent;
  if (changingTools === null) return { agent, renewTools: async () => undefined };
  let held = agent.tools;
  /** Null: no turn has begun since the channel was loaded. */
  let heldFrom: Seq | null = null;
  return {
    agent: {
      ...agent,
      get tools() {
        return held;
      },
    },
    async renewTools(needsTools, signal) {
      // Without its tools it could not go on: its model would be told that there is none of what it has just used.
      const begun = needsTools ? changingTools.whenBegun() : null;
      if (begun !== null) await unlessAborted(begun, signal);
      const from = coveredTo();
      const has = new Set(held.map(({ server }) => server));
      const isNew = agent.tools.some(({ server }) => !has.has(server));
      if (heldFrom !== from || isNew) held = agent.tools;
      heldFrom = from;
    },
  };
}
