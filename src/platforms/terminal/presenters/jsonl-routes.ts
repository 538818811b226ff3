import { KeyedQueue } from "../../../async/keyed-queue.ts";

/** Where a line belongs: a channel, a message id, or both. An edit names the id alone. */
interface Route {
  readonly channel?: string;
  readonly id?: string;
}

/**
 * Keeps the order of lines within each channel, and of an edit or deletion after the message that it names. While a message is
 * on its way into the log, its id leads to its channel's lane. The number of unfinished tasks is limited: at the limit, `add`
 * waits, and the reader of the input with it.
 */
export class JsonlRoutes {
  readonly #maxInFlight: number;
  readonly #lanes = new KeyedQueue();
  readonly #waiting: (() => void)[] = [];
  #inFlight = 0;
  readonly #laneOfId = new Map<string, { readonly lane: string; users: number }>();

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
  }

  /**
   * Resolves once the task was accepted.
   * @param task must not reject
   */
  async add(route: Route, task: () => Promise<void>): Promise<void> {
    const { id } = route;
    const lane = this.#laneFor(route);
    if (id === undefined) return await this.#take(lane, task);
    const known = this.#laneOfId.get(id) ?? { lane, users: 0 };
    known.users += 1;
    this.#laneOfId.set(id, known);
    await this.#take(lane, async () => {
      await task();
      known.users -= 1;
      if (known.users === 0 && this.#laneOfId.get(id) === known) this.#laneOfId.delete(id);
    });
  }

  /** Resolves once everything that was taken is done. */
  async idle(): Promise<void> {
    await this.#lanes.settled();
  }

  async #take(lane: string, task: () => Promise<void>): Promise<void> {
    while (this.#inFlight >= this.#maxInFlight) {
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
    this.#inFlight += 1;
    void this.#lanes.add(lane, task).finally(() => {
      this.#inFlight -= 1;
      this.#waiting.shift()?.();
    });
  }

  #laneFor({ channel, id }: Route): string {
    if (channel !== undefined) return `channel ${channel}`;
    return this.#laneOfId.get(id ?? "")?.lane ?? `id ${id}`;
  }
}
