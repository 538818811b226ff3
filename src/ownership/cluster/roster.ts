import { z } from "zod";

const presence = z.object({
  /** Of one run of a daemon. */
  id: z.string().min(1).max(64),
  name: z.string().max(200),
  /** When it started, ms of its own clock; the order of members depends on it alone. */
  since: z.number(),
  held: z.array(z.int().min(0)),
  /** It takes no share: it leaves, rests, or could not acquire a lease just now. */
  isOut: z.boolean(),
  /** The database has answered it steadily, and it does not leave. Older versions do not send it. */
  hasDatabase: z.boolean().default(false),
});

/** The content of a member's presence message. */
export type Presence = Readonly<z.output<typeof presence>>;

/** @param count number of leases @returns null: not a presence message */
export function parsePresence(content: Buffer, count: number): Presence | null {
  try {
    const read = presence.parse(JSON.parse(content.toString("utf8")));
    return read.held.length <= count && read.held.every((id) => id < count) ? read : null;
  } catch {
    return null;
  }
}

export function presenceBytes(of: Presence): Buffer {
  return Buffer.from(JSON.stringify(of));
}

/** A member's share of the leases: shares differ by at most one, and add up to `count`. Pure. @param rank from 0 */
export function shareOf(rank: number, members: number, count: number): number {
  return Math.floor(count / members) + (rank < count % members ? 1 : 0);
}

/** The share while the number of members is known but not their order: all shares together suffice. Pure. */
export function largestShare(members: number, count: number): number {
  return shareOf(0, Math.max(1, members), count);
}

/** A member that was silent for longer counts as absent, ms; presence messages come once a second. */
const SILENT_MS = 3000;

/** The members of the cluster, by their presence messages. No I/O and no clock of its own. */
export class Roster {
  readonly #self: Pick<Presence, "id" | "since">;
  readonly #others = new Map<string, { readonly presence: Presence; readonly heardAt: number }>();
  /**
   * When each member last reported that the database answers it. Includes members that take no share: they take one where no other
   * member is left.
   */
  readonly #witnesses = new Map<string, number>();
  readonly #heldAt: number[];

  constructor(self: Pick<Presence, "id" | "since">, count: number, now: number) {
    this.#self = self;
    this.#heldAt = Array.from({ length: count }, () => now);
  }

  /** @returns whether the shares change: the member is new, or takes no share any longer */
  hear(heard: Presence, now: number): boolean {
    if (heard.id === this.#self.id) return false;
    for (const id of heard.held) this.holds(id, now);
    if (heard.hasDatabase) this.#witnesses.set(heard.id, now);
    else this.#witnesses.delete(heard.id);
    const isKnown = this.#others.has(heard.id);
    if (heard.isOut) return this.#others.delete(heard.id);
    this.#others.set(heard.id, { presence: heard, heardAt: now });
    return !isKnown;
  }

  holds(id: number, now: number): void {
    this.#heldAt[id] = now;
  }

  /** Leases that no member has held for longer than `forMs`. */
  orphans(forMs: number, now: number): number[] {
    return this.#heldAt.flatMap((at, id) => (now - at > forMs ? [id] : []));
  }

  /** Whether this member is the first in order, and so does the work that exactly one member must do. */
  isFirst(now: number): boolean {
    return this.#rank(now) === 0;
  }

  /** @param counted number of members by the broker; null: not known */
  share(counted: number | null, now: number): number {
    const here = this.#here(now).length + 1;
    // A member joined or left that the roster does not know of yet, so ranks are unknown.
    if (counted !== null && counted !== here) return largestShare(counted, this.#heldAt.length);
    return shareOf(this.#rank(now), here, this.#heldAt.length);
  }

  /** Whether the database answers another member. */
  isDatabaseThere(now: number): boolean {
    for (const [id, heardAt] of this.#witnesses) if (now - heardAt > SILENT_MS) this.#witnesses.delete(id);
    return this.#witnesses.size > 0;
  }

  size(now: number): number {
    return this.#here(now).length + 1;
  }

  #rank(now: number): number {
    const { since, id } = this.#self;
    // Later members rank last: other shares shrink only by what a newcomer takes.
    return this.#here(now).filter((one) => one.since < since || (one.since === since && one.id < id)).length;
  }

  #here(now: number): Presence[] {
    for (const [id, { heardAt }] of this.#others) if (now - heardAt > SILENT_MS) this.#others.delete(id);
    return [...this.#others.values()].map((one) => one.presence);
  }
}
