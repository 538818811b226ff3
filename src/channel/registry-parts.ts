import type { Summariser } from "../compactor/summariser.ts";
import type { ChannelAddress } from "../core/ids.ts";
import type { Platform } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Agent } from "../turn/agent.ts";
import type { SharedParts } from "./channel-context.ts";

export interface RegistryParts extends SharedParts {
  /** Actors in memory before the longest unused ones go. */
  readonly maxLoadedChannels: number;
  /** Time unused after which an actor goes, ms. */
  readonly idleEvictMs: number;
  /** Time after which a channel that was lost is looked at, ms; left out: a minute. */
  readonly lostLookMs?: number;
  /** The agent that answers, and what writes its summaries, by its id in the channel's row. */
  agentOf(channel: ChannelRow): { readonly agent: Agent; readonly compactorAgent: Summariser };
  /** Whether a channel's answers are shown while they are written. */
  streams(channel: ChannelRow): boolean;
  /** The adapter that can deliver to a channel just now; undefined where none can. */
  platformOf(address: ChannelAddress): Platform | undefined;
}
