/** When a person must allow calls of a tool before they run. `writes`: unless the tool says that it only reads. */
export const ASK_MODES = ["always", "never", "writes"] as const;
export type AskMode = (typeof ASK_MODES)[number];
