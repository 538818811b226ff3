import { unlessAborted } from "../async/deadline.ts";
import type { Seq } from "../core/ids.ts";
import type { Agent } from "../turn/agent.ts";

/** An agent whose tool list stays identical for a channel while its prefix does. */
export interface FrozenTools {
  readonly agent: Agent;
  /**
   * Call it before a turn's first model call: tools never change within a turn.
   * @param needsTools the turn called tools before a restart, or runs calls that were held back
   */
  readonly renewTools: (needsTools: boolean, signal: AbortSignal) => Promise<void>;
}

/**
 * Tools come first in a request: another list voids the provider's cache of the whole request. So a channel keeps its list until its
 * prefix changes anyway: when a summary is committed, or the channel is loaded. Exception: a server of which it has no tools yet
 * because the server started slowly; people would wait for them until the next summary.
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
      // Without its tools the turn could not continue: the tools that it just used would be unknown.
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
