import type { CrashPoint, Size } from "./schedule.ts";

/** Statements at which a crash is dealt: those that change something, and some that only read. */
const STATEMENTS = [
  "append_message",
  "append_turn_entries",
  "append_turn_entries",
  "append_turn_entries",
  "settle_turn",
  "turn_take_in",
  "settle_handing_over",
  "settle_handing_over",
  "subagent_begin",
  "subagent_take",
  "subagent_save",
  "subagent_save",
  "subagent_tell_call",
  "subagents_settle",
  "subagents_close",
  "approvals_note",
  "approvals_note",
  "approvals_take",
  "approvals_take",
  "approval_decide",
  "approval_told",
  "approval_note_shown",
  "approvals_end_untaken",
  "reminder_add",
  "reminder_fire",
  "reminder_fire",
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

/** Statements that do the same for several channels at once. */
const TOGETHER: Readonly<Record<string, string>> = {
  append_batches: "append_message",
  settle_turns: "settle_turn",
};

/** Whether a statement is that of a point, for one channel or for several. */
export function isAt(point: CrashPoint, statement: string): boolean {
  return point.statement === (TOGETHER[statement] ?? statement);
}

/** Those that write, whose answer may be lost though they were committed. */
export const CUTS: readonly CrashPoint[] = (
  [
    ...([
      "append_message",
      "append_turn_entries",
      "settle_turn",
      "turn_take_in",
      "turn_begin",
      "delivery_sent",
    ] as const),
    ...(["job_begin", "job_stage", "job_commit", "job_commit", "channel_omit", "delete_message"] as const),
    ...(["revise_message", "transaction", "settle_handing_over"] as const),
    ...(["subagent_begin", "subagent_save", "subagent_tell_call", "subagents_close"] as const),
    ...(["approvals_note", "approvals_take", "approval_told", "approvals_end_untaken"] as const),
    ...(["reminder_add", "reminder_fire", "reminder_fire"] as const),
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
  ...(["turn", "summary", "subagent", "platform", "deed"] as const).flatMap((at) =>
    (["before", "after"] as const).map((when): CrashPoint => ({ at, statement: "", when, nth: 1 })),
  ),
];

/** The crashes that every seed has: behind calls of the model, and where a summary is paid for and not committed. */
export const SURE_CRASHES: readonly CrashPoint[] = [
  { at: "database", statement: "append_turn_entries", when: "after", nth: 1 },
  { at: "database", statement: "turn_take_in", when: "after", nth: 1 },
  { at: "database", statement: "job_stage", when: "after", nth: 1 },
  { at: "database", statement: "job_commit", when: "before", nth: 1 },
  { at: "database", statement: "settle_handing_over", when: "after", nth: 1 },
  { at: "database", statement: "subagent_tell_call", when: "after", nth: 1 },
  { at: "subagent", statement: "", when: "after", nth: 1 },
  { at: "database", statement: "subagent_save", when: "after", nth: 1 },
  { at: "database", statement: "approvals_note", when: "before", nth: 1 },
  { at: "deed", statement: "", when: "after", nth: 1 },
  { at: "database", statement: "reminder_fire", when: "before", nth: 1 },
];

/** The connection that every seed cuts: behind an append of which nobody hears. */
export const SURE_CUT: CrashPoint = { at: "database", statement: "append_message", when: "after", nth: 1 };

/** Where what is done for several rooms at once ends, or is not heard of: the first room's goes alone. */
export const CROWD_POINTS: readonly CrashPoint[] = ["append_message", "settle_turn"].flatMap((statement) =>
  (["before", "after"] as const).map((when): CrashPoint => ({ at: "database", statement, when, nth: 2 })),
);

/** As often as each is dealt. */
export const EPISODES = [
  ...(["plain", "plain", "crash", "crash", "crash", "hold", "hold", "bad", "bad"] as const),
  ...(["race", "stall", "delete", "slow", "odd", "cut", "away", "off", "lag"] as const),
  ...([
    "reload",
    "reload",
    "together",
    "together",
    "beside",
    "beside",
    "allowed",
    "allowed",
    "later",
    "later",
    "crowd",
  ] as const),
] as const;

/** Of messages. */
export const SIZES: readonly Size[] = [
  ...(["short", "short", "short", "short", "short", "short"] as const),
  ...(["long", "cjk", "code"] as const),
];

/** Of those that have to fill a window while nobody summarises. */
export const LARGE: readonly Size[] = ["short", "long", "long", "cjk", "code", "code"];

export type Episode = (typeof EPISODES)[number];
