import type { Channel, ConsumeMessage } from "amqplib";

/**
 * away ──enter──► waiting ──lease──► deciding ──► taking ──► owned ──► handingOn
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

/** This member's consumer on one lease queue, and its state. */
export interface LeaseSlot {
  /** Of the lease's partition or shard. */
  readonly id: number;
  readonly channel: Channel;
  state: LeaseSlotState;
  tag: string;
  /** Received and unacknowledged leases, the oldest first. */
  readonly leases: ConsumeMessage[];
  passedAt: number;
  gainedAt: number;
  renewAt: number;
  /** Identifies the running renewal, from its publishing to its delivery; null: none. */
  renewal: object | null;
  retryAt: number;
}

export const HAS_BATON: ReadonlySet<LeaseSlotState> = new Set<LeaseSlotState>([
  "deciding",
  "taking",
  "owned",
  "handingOn",
]);
/** The listener knows of the lease, or is about to. */
export const IS_TOLD: ReadonlySet<LeaseSlotState> = new Set<LeaseSlotState>(["taking", "owned", "handingOn"]);
/** States that count towards the share. */
export const IS_KEPT: ReadonlySet<LeaseSlotState> = new Set<LeaseSlotState>(["taking", "owned"]);

export function newLeaseSlot(id: number, channel: Channel): LeaseSlot {
  return {
    id,
    channel,
    state: "away",
    tag: "",
    leases: [],
    passedAt: Number.NEGATIVE_INFINITY,
    gainedAt: 0,
    renewAt: Number.POSITIVE_INFINITY,
    renewal: null,
    retryAt: Number.POSITIVE_INFINITY,
  };
}
