import { LatestOnly } from "../../../src/async/latest-only.ts";
import type { HomesListener, Partition } from "../../../src/ownership/homes.ts";
import type { ChannelId, Seq } from "../../../src/core/ids.ts";
import { areEven } from "./shares.ts";

/** The home of each partition, over all daemons of a test in its process, from the channels' point of view. */
export class Ledger {
  /** Times at which a partition had two owners. */
  readonly overlaps: string[] = [];
  /** Overlaps whose first owner has not yet been notified of its loss. */
  readonly lasting = new Set<string>();
  readonly #owners = new Map<Partition, string>();
  readonly #members = new Set<LedgerListener>();

  listener(name: string, hooks: ListenerHooks = {}): LedgerListener {
    const listener = new LedgerListener(this, name, hooks);
    this.#members.add(listener);
    return listener;
  }

  take(partition: Partition, name: string): void {
    const owner = this.#owners.get(partition);
    if (owner !== undefined && owner !== name) {
      this.overlaps.push(`${partition}: ${owner}, then ${name}`);
      this.lasting.add(`${partition}: ${owner}`);
    }
    this.#owners.set(partition, name);
  }

  drop(partition: Partition, name: string): void {
    if (this.#owners.get(partition) === name) this.#owners.delete(partition);
    this.lasting.delete(`${partition}: ${name}`);
  }

  /** Number of partitions by owner. */
  get shares(): Readonly<Record<string, number>> {
    const shares: Record<string, number> = {};
    for (const owner of this.#owners.values()) shares[owner] = (shares[owner] ?? 0) + 1;
    return shares;
  }

  /** Whether all partitions have owners, exactly these, in even shares. */
  isEven(...names: readonly string[]): boolean {
    const { shares } = this;
    const areThese = Object.keys(shares).toSorted().join() === names.toSorted().join();
    return areThese && areEven(Object.values(shares));
  }
}

export interface ListenerHooks {
  /** Awaited before partitions are taken. @returns false: they are refused */
  readonly gaining?: (partitions: readonly Partition[]) => Promise<boolean | void>;
  /** Awaited while partitions are handed over. */
  readonly draining?: (partitions: readonly Partition[], deadline: AbortSignal) => Promise<void>;
}

/** The channels' side of one daemon. */
export class LedgerListener implements HomesListener {
  readonly wakes: { readonly channel: ChannelId; readonly seq: Seq }[] = [];
  readonly handedOn: Partition[] = [];
  readonly lostOnes: Partition[] = [];
  readonly #takings = new LatestOnly<Partition>();
  readonly #ledger: Ledger;
  readonly #name: string;
  readonly #hooks: ListenerHooks;

  constructor(ledger: Ledger, name: string, hooks: ListenerHooks) {
    this.#ledger = ledger;
    this.#name = name;
    this.#hooks = hooks;
  }

  async gained(partitions: readonly Partition[]): Promise<readonly Partition[]> {
    return this.#takings.run(partitions, async (own) => {
      if ((await this.#hooks.gaining?.(partitions)) === false) return [];
      const taken = own();
      for (const partition of taken) this.#ledger.take(partition, this.#name);
      return taken;
    });
  }

  async handingOn(partitions: readonly Partition[], deadline: AbortSignal): Promise<void> {
    await this.#hooks.draining?.(partitions, deadline);
    this.handedOn.push(...partitions);
    for (const partition of partitions) this.#ledger.drop(partition, this.#name);
  }

  lost(partitions: readonly Partition[]): void {
    this.#takings.drop(partitions);
    this.lostOnes.push(...partitions);
    for (const partition of partitions) this.#ledger.drop(partition, this.#name);
  }

  woken(channel: ChannelId, seq: Seq): void {
    this.wakes.push({ channel, seq });
  }
}
