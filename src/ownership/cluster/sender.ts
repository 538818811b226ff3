import type { Channel, ConfirmChannel } from "amqplib";
import type { Logger } from "pino";
import { backoffMs, jittered } from "../../async/backoff.ts";
import { pause } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import { retry } from "../../async/retry.ts";
import type { Partition } from "../homes.ts";
import { errorMessage } from "../../core/errors.ts";
import type { ChannelId } from "../../core/ids.ts";
import { type BrokerConnection, openBroker } from "./broker-connection.ts";
import type { Names } from "./names.ts";
import { type Wake, wakeBytes } from "./wakes.ts";

const BACKOFF = { fromMs: 100, toMs: 2000 };

/** Most wakes that wait for the broker. The oldest are dropped: the home's poll each second covers them. */
const MOST_WAITING = 10_000;

/**
 * Publishes all messages of this daemon on a connection of its own: a broker short of memory or disk stops reading from publishing
 * connections, and the leases' connection must continue. Of the publishing methods only {@link lease} waits for the broker.
 */
export class Sender {
  /** Wakes that were passed to the broker, and wakes that were discarded. */
  readonly counts = { sent: 0, dropped: 0 };
  readonly #names: Names;
  readonly #open: () => Promise<BrokerConnection>;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** The newest unsent wake of each channel, the oldest first. */
  readonly #waiting = new Map<ChannelId, Wake & { readonly partition: Partition }>();
  #over: Promise<void> = Promise.resolve();
  readonly #onFlow: (() => void)[] = [];
  #line: { readonly plain: Channel; readonly confirmed: ConfirmChannel } | null = null;
  /** The broker accepts no messages: it is short of memory or disk. */
  #isBlocked = false;
  /** The write buffer of the connection is full. */
  #isFull = false;

  /** @param name shown in the broker's list of connections */
  constructor(names: Names, url: string, name: string, log: Logger) {
    this.#names = names;
    this.#open = async () => openBroker(url, name, this.#closing.signal);
    this.#log = log;
  }

  /** Connects, and reconnects after each loss until {@link close}. */
  start(): void {
    this.#over = this.#stayConnected();
  }

  /** Whether the broker is connected and accepts messages. */
  get isFlowing(): boolean {
    return this.#line !== null && !this.#isBlocked && !this.#isFull;
  }

  /** Resolves once {@link isFlowing}, at the latest after `ms`. @param signal ends the wait */
  async untilFlowing(ms: number, signal: AbortSignal): Promise<void> {
    if (this.isFlowing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onFlow.push(resolve);
    await withDeadline(promise, ms, signal);
  }

  wake(partition: Partition, wake: Wake): void {
    if (this.isFlowing && this.#waiting.size === 0) return this.#publish(partition, wake);
    const { channel } = wake;
    if (!this.#waiting.has(channel) && this.#waiting.size >= MOST_WAITING) {
      const [oldest] = this.#waiting.keys();
      if (oldest !== undefined) this.#waiting.delete(oldest);
      this.counts.dropped += 1;
    }
    this.#waiting.set(channel, { ...wake, partition });
  }

  /** Publishes a presence message to all members; drops it if the broker does not accept messages now. */
  announce(content: Buffer): void {
    if (this.isFlowing) this.#line?.plain.publish(this.#names.presence, "", content);
  }

  /**
   * Publishes a lease to its queue. A surplus lease does no harm: the holder of the first receives it too, and acknowledges one.
   * @returns whether the broker confirmed it
   */
  async lease(id: number, content: Buffer): Promise<boolean> {
    const confirmed = this.#line?.confirmed;
    if (confirmed === undefined) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    try {
      confirmed.sendToQueue(this.#names.lease(id), content, { persistent: true }, (error) =>
        resolve(error === null),
      );
    } catch {
      return false;
    }
    return promise;
  }

  /** Ends the connection. Waiting wakes are not sent. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#over;
  }

  #publish(partition: Partition, wake: Wake): void {
    try {
      this.#isFull = this.#line?.plain.sendToQueue(this.#names.wakes(partition), wakeBytes(wake)) === false;
      this.counts.sent += 1;
    } catch {
      // The connection is closed, and its event is still to come.
      this.counts.dropped += 1;
    }
  }

  #flush(): void {
    if (this.isFlowing) for (const resolve of this.#onFlow.splice(0)) resolve();
    for (const { partition, ...wake } of this.#waiting.values()) {
      if (!this.isFlowing) return;
      this.#waiting.delete(wake.channel);
      this.#publish(partition, wake);
    }
  }

  async #stayConnected(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const connection = await this.#connect(signal);
      if (connection === null) return;
      const why = await this.#publishOn(connection, signal);
      this.#line = null;
      await connection.close();
      if (signal.aborted) return;
      this.#log.warn({ why }, "The connection for publishing to RabbitMQ is lost");
      await pause(jittered(BACKOFF.fromMs), signal);
    }
  }

  /** @returns null: it is closing */
  async #connect(signal: AbortSignal): Promise<BrokerConnection | null> {
    try {
      return await retry(this.#open, (_, failures) => jittered(backoffMs(BACKOFF, failures)), signal);
    } catch {
      return null;
    }
  }

  /** @returns why the connection is no longer usable */
  async #publishOn({ model, closed }: BrokerConnection, signal: AbortSignal): Promise<string> {
    const end = Promise.withResolvers<string>();
    void closed.then(end.resolve);
    [this.#isBlocked, this.#isFull] = [false, false];
    model.on("blocked", () => {
      this.#isBlocked = true;
    });
    model.on("unblocked", () => {
      this.#isBlocked = false;
      this.#flush();
    });
    try {
      const plain = await model.createChannel();
      const confirmed = await model.createConfirmChannel();
      for (const channel of [plain, confirmed]) {
        channel.on("error", (error) => end.resolve(errorMessage(error)));
        channel.on("close", () => end.resolve("its channel was closed"));
      }
      plain.on("drain", () => {
        this.#isFull = false;
        this.#flush();
      });
      this.#line = { plain, confirmed };
      this.#flush();
    } catch (error) {
      return errorMessage(error);
    }
    signal.addEventListener("abort", () => end.resolve("it is closed"), { once: true });
    if (signal.aborted) end.resolve("it is closed");
    return end.promise;
  }
}
