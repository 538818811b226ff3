/** What clocks say when a run begins, ms since the epoch. */
export const START = Date.UTC(2026, 10, 21, 9, 0);

/** Time that stands still until nothing is left to be done in it. */
export class VirtualTime {
  /** Milliseconds since the simulation began. */
  now = 0;
  #made = 0;
  readonly #timers = new Set<VirtualTimer>();

  wall(): number {
    return START + this.now;
  }

  add(timer: VirtualTimer): number {
    this.#timers.add(timer);
    return ++this.#made;
  }

  remove(timer: VirtualTimer): void {
    this.#timers.delete(timer);
  }

  /** Goes on to the timer that is due first; of two that are due at once the older fires. @returns false: there is none */
  fireNext(): boolean {
    let first: VirtualTimer | undefined;
    for (const timer of this.#timers) if (first === undefined || timer.isBefore(first)) first = timer;
    if (first === undefined) return false;
    this.now = Math.max(this.now, first.dueAt);
    first.fire();
    return true;
  }
}

/** Stands in for a timer of Node. */
export class VirtualTimer {
  readonly #time: VirtualTime;
  readonly #call: () => void;
  readonly #ms: number;
  readonly #repeats: boolean;
  dueAt = 0;
  #order = 0;

  constructor(time: VirtualTime, call: () => void, ms: number, repeats: boolean) {
    this.#time = time;
    this.#call = call;
    this.#ms = ms;
    this.#repeats = repeats;
    this.refresh();
  }

  isBefore(other: VirtualTimer): boolean {
    return this.dueAt === other.dueAt ? this.#order < other.#order : this.dueAt < other.dueAt;
  }

  fire(): void {
    if (this.#repeats) this.refresh();
    else this.close();
    this.#call();
  }

  refresh(): this {
    this.#time.remove(this);
    this.dueAt = this.#time.now + this.#ms;
    this.#order = this.#time.add(this);
    return this;
  }

  close(): this {
    this.#time.remove(this);
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.toPrimitive](): number {
    return this.#order;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
