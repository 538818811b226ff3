import type { Channel, ConsumeMessage } from "amqplib";

/**
 * away ──enter──► waiting ──baton──► deciding ──► taking ──► owned ──► handingOn
 * ▲  │             ▲   ▲                │           │ refused  │ unproved  │
 * │  └──► stuck ───┘   └── passing ◄────┴───────────┴──────────┴───────────┘
 * └──────── leaving ───────────┘
 */
export type LeaseSlotState =
  | "away"
  | "stuck"
  | "waiting"
  | "deciding"
  | "taking"
  | "owned"
  | "handingOn"
  | "passing";

/** The place of this member in the line for one baton. */
export interface LeaseSlot {
  /** Of the partition or the shard that the baton is of. */
  readonly id: number;
  readonly channel: Channel;
  state: LeaseSlotState;
  tag: string;
  /** Batons that were sent and not acknowledged, the oldest first. */
  readonly batons: ConsumeMessage[];
  passedAt: number;
  gainedAt: number;
  renewAt: number;
  /** Set from the sending of a second baton until it comes. */
  renewal: object | null;
  /** Where it is stuck. */
  retryAt: number;
}

export const HAS_BATON: ReadonlySet<LeaseSlotState> = new Set<LeaseSlotState>([
  "deciding",
  "taking",
  "owned",
  "handingOn",
]);
/** The listener has been told of it, or is about to be. */
export const IS_TOLD: ReadonlySet<LeaseSlotState> = new Set<LeaseSlotState>(["taking", "owned", "handingOn"]);
/** Counts for the share. */
export const IS_KEPT: ReadonlySet<LeaseSlotState> = new Set<LeaseSlotState>(["taking", "owned"]);

export function newLeaseSlot(id: number, channel: Channel): LeaseSlot {
  return {
    id,
    channel,
    state: "away",
    tag: "",
    batons: [],
    passedAt: Number.NEGATIVE_INFINITY,
    gainedAt: 0,
    renewAt: Number.POSITIVE_INFINITY,
    renewal: null,
    retryAt: Number.POSITIVE_INFINITY,
  };
}
