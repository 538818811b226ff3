import type { EventPage, LoopbackEvent } from "../../../src/platforms/loopback/protocol.ts";
import type { Random } from "../../fuzz/random.ts";

/** What is not acknowledged for so long goes to another daemon as well, as Slack does it, ms. */
const REDELIVERED_MS = 3000;
const SWEEP_MS = 200;
/** Share of the messages that come twice. */
const TWICE = 0.05;

type Message = Omit<LoopbackEvent & { type: "message" }, "number">;

/** The ways from the chat service to each daemon: a message comes by one of them, and by another if it is not acknowledged. */
export class Fronts {
  readonly #server: string;
  readonly #random: Random;
  readonly #fronts = new Map<string, Front>();

  constructor(server: string, random: Random) {
    this.#server = server;
    this.#random = random;
    setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  of(daemon: string): Front {
    const front = this.#fronts.get(daemon) ?? new Front(this.#server);
    this.#fronts.set(daemon, front);
    return front;
  }

  /** One of these is told, and now and then two. */
  put(message: Message, among: readonly string[]): void {
    const told = this.#random.shuffled(among).slice(0, this.#random.chance(TWICE) ? 2 : 1);
    for (const daemon of told) this.of(daemon).put(message);
  }

  #sweep(): void {
    for (const [daemon, front] of this.#fronts) {
      const others = [...this.#fronts].filter(([name, other]) => name !== daemon && other.isWaiting);
      if (others.length === 0) continue;
      for (const message of front.takeOverdue()) this.#random.pick(others)[1].put(message);
    }
  }
}

/** The events of one daemon, with numbers of their own. */
class Front {
  readonly #server: string;
  readonly #events: { readonly message: Message; readonly putAt: number; isElsewhere: boolean }[] = [];
  readonly #waiters = new Set<() => void>();
  #acknowledged = 0;

  constructor(server: string) {
    this.#server = server;
  }

  /** A daemon asks for more just now, as far as can be seen. */
  get isWaiting(): boolean {
    return this.#waiters.size > 0;
  }

  put(message: Message): void {
    this.#events.push({ message, putAt: performance.now(), isElsewhere: false });
    for (const wake of this.#waiters) wake();
  }

  /** What has waited for too long, once. */
  takeOverdue(): Message[] {
    const end = performance.now() - REDELIVERED_MS;
    const overdue = this.#events
      .slice(this.#acknowledged)
      .filter((one) => !one.isElsewhere && one.putAt < end);
    for (const one of overdue) one.isElsewhere = true;
    return overdue.map(({ message }) => message);
  }

  /** As `GET /events` of the loopback service. */
  async poll(query: URLSearchParams, gone: AbortSignal): Promise<EventPage> {
    const after =
      query.has("after") && query.get("server") === this.#server ? Number(query.get("after")) : null;
    if (after !== null)
      this.#acknowledged = Math.max(this.#acknowledged, Math.min(after, this.#events.length));
    const from = after ?? this.#acknowledged;
    if (this.#events.length <= from) await this.#next(Number(query.get("waitMs") ?? 0), gone);
    const events = this.#events.slice(from, from + 100).map(({ message }, index) => {
      return { ...message, number: from + index + 1 };
    });
    return { server: this.#server, events };
  }

  async #next(waitMs: number, gone: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    this.#waiters.add(resolve);
    gone.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
    this.#waiters.delete(resolve);
  }
}
