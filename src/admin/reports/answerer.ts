import { GuestView } from "../../channel/turns/guest-view.ts";
import type { Guests } from "../../channel/guests.ts";
import { dueMessages, type History } from "../../core/history.ts";
import { turnId } from "../../core/ids.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { ChannelSnapshot } from "../../store/channels/snapshot.ts";
import type { Digester } from "../../store/compaction/extracts.ts";
import type { Store } from "../../store/store.ts";
import type { Agent } from "../../turn/agent.ts";

export interface AnswererParts {
  readonly store: Store;
  /** The channel's own agent. */
  readonly agent: Agent;
  readonly guests: Guests;
  readonly digester: Digester;
}

/** The agent that last answered a channel, and its view of it. */
export interface Answerer {
  readonly agent: Agent;
  /** Whether it is another than the channel's own. */
  readonly isGuest: boolean;
  /** The channel as the agent's next request would show it. */
  readonly seen: (snapshot: ChannelSnapshot) => Promise<ChannelSnapshot>;
}

/** Finds whose context people mean: that of the agent whose turn it was last. */
export async function lastAnswerer(
  { store, agent, guests, digester }: AnswererParts,
  { id }: Pick<ChannelRow, "id">,
): Promise<Answerer> {
  const own: Answerer = { agent, isGuest: false, seen: async (snapshot) => snapshot };
  if (guests.team.length === 0) return own;
  const last = await store.turns.lastAnswerer(id);
  const guest = last === undefined ? undefined : guests.agent(last);
  if (last === undefined || guest === undefined) return own;
  return {
    agent: guest,
    isGuest: true,
    async seen(snapshot) {
      const history = await seenByGuest({ store, agent: guest, digester }, id, snapshot.history);
      return { ...snapshot, history, lastUsage: null };
    },
  };
}

async function seenByGuest(
  { store, agent, digester }: Pick<AnswererParts, "store" | "agent" | "digester">,
  channel: ChannelRow["id"],
  history: History,
): Promise<History> {
  const next = history.lastSeq + 1;
  const turn = { id: turnId(-1), fromSeq: dueMessages(history)[0]?.seq ?? next, toSeq: next };
  const parts = { store, agent, owner: { channel }, compactorAgent: { digester } };
  return new GuestView(parts, { current: history, snapshot: async () => history }, turn, null).snapshot();
}
