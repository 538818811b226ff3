export const CHANNEL_ORDERS = ["heard", "level", "due", "entries", "name"] as const;
export type ChannelOrder = (typeof CHANNEL_ORDERS)[number];

/** Keys that group spendings. */
export const USAGE_KEYS = ["agent", "channel", "person", "day", "model", "purpose"] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];

/** Levels that filter the log, from the least to the most important. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
