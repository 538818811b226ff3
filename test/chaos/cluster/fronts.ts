import { EventQueue } from "../../../src/platforms/local/loopback/event-queue.ts";
import type { LoopbackEvent, Position } from "../../../src/platforms/local/loopback/protocol.ts";
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
      const others = [...this.#fronts].filter(([name, other]) => name !== daemon && other.queue.isAwaited);
      if (others.length === 0) continue;
      for (const message of front.takeOverdue()) this.#random.pick(others)[1].put(message);
    }
  }
}

/** The events of one daemon, with numbers of their own. */
class Front {
  readonly queue: EventQueue;
  readonly #put: {
    readonly message: Message;
    readonly position: Position;
    readonly putAt: number;
    isElsewhere: boolean;
  }[] = [];

  constructor(server: string) {
    this.queue = new EventQueue(server);
  }

  put(message: Message): void {
    const position = this.queue.emit(message, message.at);
    this.#put.push({ message, position, putAt: performance.now(), isElsewhere: false });
  }

  /** What has waited for too long, once. */
  takeOverdue(): Message[] {
    const end = performance.now() - REDELIVERED_MS;
    const overdue = this.#put.filter(
      (one) => !one.isElsewhere && one.putAt < end && !this.queue.isAcknowledged(one.position),
    );
    for (const one of overdue) one.isElsewhere = true;
    return overdue.map(({ message }) => message);
  }
}
