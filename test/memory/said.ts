import type { UserEntry } from "../../src/core/entry.ts";

/** An entry of Ann's, a minute after the one with the seq before it. */
export function said(seq: number, text: string, overrides: Partial<UserEntry> = {}): UserEntry {
  return {
    kind: "user",
    seq,
    at: new Date(Date.UTC(2026, 10, 21, 9, seq)),
    deleted: false,
    tokens: 1,
    author: { id: "u-ann", name: "Ann", isBot: false },
    text,
    messageId: `m${seq}`,
    replyTo: null,
    addressed: false,
    ...overrides,
  };
}
