import { z } from "zod";

/** What a member tells the others of itself. */
export interface Presence {
  /** Of one run of a daemon. */
  readonly id: string;
  readonly name: string;
  /** When it joined, in ms since 1970 of its own clock: the one thing that the order of members comes from. */
  readonly since: number;
  /** The batons that it has. */
  readonly held: readonly number[];
  /** It counts for no share: it leaves, or cannot take up anything now. */
  readonly isOut: boolean;
  /** The database has answered it for a while, and it does not leave. */
  readonly hasDatabase: boolean;
}

const presence = z.object({
  id: z.string().min(1).max(64),
  name: z.string().max(200),
  since: z.number(),
  held: z.array(z.int().min(0)),
  isOut: z.boolean(),
  // Members of before do not tell.
  hasDatabase: z.boolean().default(false),
});

/** @param count batons that there are. @returns null: these bytes are no member's */
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

/** How many of all batons a member holds of right: the shares differ by one at most, and are all together. Pure. @param rank from 0 */
export function shareOf(rank: number, members: number, count: number): number {
  return Math.floor(count / members) + (rank < count % members ? 1 : 0);
}

/** The same while it is known how many members there are, and not who they are: all shares together are enough. Pure. */
export function largestShare(members: number, count: number): number {
  return shareOf(0, Math.max(1, members), count);
}

/** Each tells of itself once a second; who was not heard for so long is not here, ms. */
const SILENT_MS = 3000;

/** Who is in the cluster, as far as this member has heard. Pure but for what it remembers. */
export class Roster {
  readonly #self: Pick<Presence, "id" | "since">;
  readonly #others = new Map<string, { readonly presence: Presence; readonly heardAt: number }>();
  /** When each was last heard that the database answers: also whoever counts for no share, as it takes one where nobody else is. */
  readonly #witnesses = new Map<string, number>();
  readonly #heldAt: number[];

  /** @param count batons that there are */
  constructor(self: Pick<Presence, "id" | "since">, count: number, now: number) {
    this.#self = self;
    this.#heldAt = Array.from({ length: count }, () => now);
  }

  /** @returns whether the shares change: it is new here, or goes */
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

  /** Somebody has this baton. */
  holds(id: number, now: number): void {
    this.#heldAt[id] = now;
  }

  /** Batons that nobody has had for so long. */
  orphans(forMs: number, now: number): number[] {
    return this.#heldAt.flatMap((at, id) => (now - at > forMs ? [id] : []));
  }

  /** The first of all: what one of them has to do falls to it. */
  isFirst(now: number): boolean {
    return this.#rank(now) === 0;
  }

  /** @param counted members, as the broker says; null: it does not */
  share(counted: number | null, now: number): number {
    const here = this.#here(now).length + 1;
    // Somebody has come or gone, and it is not known who: no share of one's own, and enough for all together.
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
    // Who came later is behind: nobody's share moves but by what the newcomer takes.
    return this.#here(now).filter((one) => one.since < since || (one.since === since && one.id < id)).length;
  }

  #here(now: number): Presence[] {
    for (const [id, { heardAt }] of this.#others) if (now - heardAt > SILENT_MS) this.#others.delete(id);
    return [...this.#others.values()].map((one) => one.presence);
  }
}
