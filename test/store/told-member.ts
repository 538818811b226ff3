import { randomUUID } from "node:crypto";
import type { Presence } from "../../src/store/channels/members.ts";

/** What a daemon of a cluster tells of itself. */
export function toldMember(name: string, overrides: Partial<Presence> = {}): Presence {
  return {
    id: randomUUID(),
    name,
    version: "1.0.0",
    host: "host",
    pid: 7,
    startedAt: new Date(),
    held: [],
    keyId: null,
    vitals: {},
    ...overrides,
  };
}
