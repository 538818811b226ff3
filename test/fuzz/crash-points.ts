import type { CrashPoint, Size } from "./schedule.ts";

/** Statements at which a crash is dealt: those that change something, and some that only read. */
const STATEMENTS = [
  "append_message",
  "append_turn_entries",
  "append_turn_entries",
  "append_turn_entries",
  "settle_turn",
  "turn_begin",
  "delivery_sent",
  "job_begin",
  "job_stage",
  "job_commit",
  "summaries_live",
  "channel_omit",
  "channel_read",
  "delete_message",
  "revise_message",
  "entries_read",
] as const;

/** Those that write, whose answer may be lost though they were committed. */
export const CUTS: readonly CrashPoint[] = (
  [
    ...(["append_message", "append_turn_entries", "settle_turn", "turn_begin", "delivery_sent"] as const),
    ...(["job_begin", "job_stage", "job_commit", "job_commit", "channel_omit", "delete_message"] as const),
    ...(["revise_message", "transaction"] as const),
  ] as const
).flatMap((statement) =>
  (["after", "after", "before"] as const).map((when): CrashPoint => ({
    at: "database",
    statement,
    when,
    nth: 1,
  })),
);

/** Where an incarnation dies. */
export const CRASHES: readonly CrashPoint[] = [
  ...STATEMENTS.flatMap((statement) =>
    (["before", "after"] as const).map((when): CrashPoint => ({ at: "database", statement, when, nth: 1 })),
  ),
  ...Array.from({ length: 4 }).flatMap(() =>
    (["before", "after"] as const).map((when): CrashPoint => ({
      at: "database",
      statement: "",
      when,
      nth: 1,
    })),
  ),
  ...(["turn", "summary", "platform"] as const).flatMap((at) =>
    (["before", "after"] as const).map((when): CrashPoint => ({ at, statement: "", when, nth: 1 })),
  ),
];

/** The crashes that every seed has: behind calls of the model, and where a summary is paid for and not committed. */
export const SURE_CRASHES: readonly CrashPoint[] = [
  { at: "database", statement: "append_turn_entries", when: "after", nth: 1 },
  { at: "database", statement: "job_stage", when: "after", nth: 1 },
  { at: "database", statement: "job_commit", when: "before", nth: 1 },
];

/** The connection that every seed cuts: behind an append of which nobody hears. */
export const SURE_CUT: CrashPoint = { at: "database", statement: "append_message", when: "after", nth: 1 };

/** Episodes in which a summariser is held that each schedule has for sure. */
export const SURE_HOLDS = 2;

/** As often as each is dealt. */
export const EPISODES = [
  ...(["plain", "plain", "crash", "crash", "crash", "hold", "hold", "bad", "bad"] as const),
  ...(["race", "stall", "delete", "slow", "odd", "cut", "away", "off", "lag"] as const),
] as const;

/** Of messages. */
export const SIZES: readonly Size[] = [
  ...(["short", "short", "short", "short", "short", "short"] as const),
  ...(["long", "cjk", "code"] as const),
];

/** Of those that have to fill a window while nobody summarises. */
export const LARGE: readonly Size[] = ["short", "long", "long", "cjk", "code", "code"];

export type Episode = (typeof EPISODES)[number];
