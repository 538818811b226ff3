/** What channels are listed by. */
export const CHANNEL_ORDERS = ["heard", "level", "due", "entries", "name"] as const;
export type ChannelOrder = (typeof CHANNEL_ORDERS)[number];

/** By what spendings are told apart. */
export const USAGE_KEYS = ["agent", "channel", "person", "day", "model", "purpose"] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];

/** Levels by which the log is listed, from the least to the most important. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
