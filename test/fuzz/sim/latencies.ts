import { setTimeout as delay } from "node:timers/promises";

/** Share of all ways that take so long at most, ms. The rest is at once: two things that are asked together may come in either order. */
const LENGTHS = [
  { share: 0.25, mostMs: 2 },
  { share: 0.1, mostMs: 10 },
  { share: 0.03, mostMs: 60 },
] as const;

/** How long each thing is on its way in a simulation. It follows from its name and place alone, so that a step less in a schedule changes no other. */
export class Latencies {
  readonly #seed: number;
  readonly #mayTake: (key: string) => boolean;
  readonly #counts = new Map<string, number>();
  #place = 0;
  /** All that took time, by their keys. */
  readonly made: string[] = [];

  /** @param mayTake what it may not takes no time, whatever the seed says */
  constructor(seed: number, mayTake: (key: string) => boolean) {
    this.#seed = seed;
    this.#mayTake = mayTake;
  }

  /** What comes now belongs to this place of the schedule. */
  at(place: number): void {
    this.#place = place;
    this.#counts.clear();
  }

  /** Resolves when it has come. @param owner whose it is */
  async pass(owner: number, name: string): Promise<void> {
    const key = this.#key(owner, name);
    const ms = this.#mayTake(key) ? lengthOf(hashOf(`${this.#seed} ${key}`)) : 0;
    if (ms === 0) return;
    this.made.push(key);
    await delay(ms);
  }

  /** 0 ≤ x < 1, for whatever else is left to chance. */
  fraction(owner: number, name: string): number {
    return hashOf(`${this.#seed} ${this.#key(owner, name)}`);
  }

  /** A choice of such a share. */
  chance(owner: number, name: string, share: number): boolean {
    return this.fraction(owner, name) < share;
  }

  #key(owner: number, name: string): string {
    const plain = `${this.#place} ${owner} ${name}`;
    const nth = (this.#counts.get(plain) ?? 0) + 1;
    this.#counts.set(plain, nth);
    return `${plain} ${nth}`;
  }
}

function lengthOf(chance: number): number {
  let from = 0;
  for (const { share, mostMs } of LENGTHS) {
    if (chance < from + share) return Math.ceil(((chance - from) / share) * mostMs);
    from += share;
  }
  return 0;
}

/** 0 ≤ x < 1, of any text (FNV-1a, mixed). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 4_294_967_296;
}
