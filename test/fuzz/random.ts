/** Seeded chance: the same seed gives the same numbers on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ x < 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[Math.floor(this.next() * values.length)];
    if (value === undefined) throw new Error("nothing to pick from");
    return value;
  }

  shuffled<Value>(values: readonly Value[]): Value[] {
    const left = [...values];
    for (let index = left.length - 1; index > 0; index--) {
      const other = this.int(0, index);
      const [a, b] = [left[index], left[other]];
      if (a === undefined || b === undefined) continue;
      left[index] = b;
      left[other] = a;
    }
    return left;
  }
}

/** Deals all cards before it shuffles again: so each seed meets each rare thing. */
export class Deck<Card> {
  readonly #random: Random;
  readonly #cards: readonly Card[];
  #left: Card[] = [];

  constructor(random: Random, cards: readonly Card[]) {
    this.#random = random;
    this.#cards = cards;
  }

  deal(): Card {
    if (this.#left.length === 0) this.#left = this.#random.shuffled(this.#cards);
    const card = this.#left.pop();
    if (card === undefined) throw new Error("an empty deck");
    return card;
  }
}
