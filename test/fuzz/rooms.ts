import type { AgentId, ChannelAddress, ChannelId } from "../../src/core/ids.ts";
import type { ChannelKind, Place } from "../../src/core/message.ts";
import type { Decision } from "../../src/compactor/policy/policy.ts";
import type { History } from "../../src/core/history.ts";
import { ANNEX, PLATFORM } from "./chat.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Ledger, Versions } from "./ledger.ts";
import type { State } from "./observe.ts";
import type { Prompt } from "./prompt.ts";
import { AGENT, nameOf, SECOND_AGENT } from "./profile.ts";

/** A channel of a run, before it has an id. */
export interface Plan {
  readonly address: ChannelAddress;
  readonly kind: ChannelKind;
  readonly agent: AgentId;
  /** Of a thread. */
  readonly place?: Place;
}

const ANNEX_ROOM = "annex-room";
const ANNEX_THREAD = "annex-thread";

/** Most is said in the first; a DM with the same agent, and a channel of another one on another platform, with a thread of it. */
export const PLANS: readonly [Plan, ...Plan[]] = [
  { address: { platform: PLATFORM, name: "main-room" }, kind: "channel", agent: AGENT },
  { address: { platform: PLATFORM, name: "dm-room" }, kind: "dm", agent: AGENT },
  { address: { platform: ANNEX, name: ANNEX_ROOM }, kind: "channel", agent: SECOND_AGENT },
  {
    address: { platform: ANNEX, name: ANNEX_THREAD },
    kind: "thread",
    agent: SECOND_AGENT,
    place: { workspace: "", channel: ANNEX_THREAD, parent: { id: ANNEX_ROOM, name: ANNEX_ROOM } },
  },
];

/** Whether a room is a thread of another one. */
export function isThreadOf({ place }: Plan, { address }: Plan): boolean {
  return place?.parent?.id === address.name;
}

/** The own agent of a room. */
export function agentIn(room: string): AgentId {
  return PLANS.find(({ address }) => address.name === room)?.agent ?? AGENT;
}

/** Whether an agent answers in a room that is another one's. @param by its name */
export function isGuestIn({ agent }: Plan, by: string): boolean {
  return by !== nameOf(agent);
}

/** The compactor's last look at a channel. */
export interface Measured {
  readonly incarnation: Incarnation;
  /** What it looked at. */
  readonly history: History;
  /** At or over the background threshold. */
  readonly isFull: boolean;
  /** What is written ahead waits until the cache has gone cold, or room is wanted. */
  readonly awaitsCold: boolean;
  readonly decision: Decision;
}

/** One channel of a run, and what was seen of it. */
export interface Room extends Plan {
  readonly id: ChannelId;
  readonly ledger: Ledger;
  /** As of the last look. */
  state: State | null;
  measured: Measured | null;
  /** Versions as of the last step's end. */
  lookedAt: Versions | null;
}

/** The room that a request says it is of. */
export function roomShown(rooms: readonly Room[], { dynamic }: Prompt): Room | undefined {
  return rooms.find((one) => dynamic.includes(`Place: "${shownName(one)}" on`));
}

function shownName({ kind, address, place }: Room): string {
  if (place?.parent != null) return `the thread '${place.channel}' of #${place.parent.name}`;
  return kind === "dm" ? "a direct conversation" : address.name;
}
