import { type Channel, type ChannelModel, connect } from "amqplib";
import { withDeadline } from "../../async/deadline.ts";
import { errorMessage } from "../../core/errors.ts";

/** Heartbeat interval, s. After two to three silent intervals the broker closes the connection and redelivers its leases. */
const HEARTBEAT_S = 2;
/** Deadline for connecting, ms. */
const CONNECT_MS = 5000;
/** Deadline for an orderly close, ms. */
const CLOSE_MS = 2000;
/** Deadline for one request, ms: a live broker may leave a request unanswered for ever. */
const ANSWER_MS = 10_000;

/**
 * A member owns its leases for this time after it sent a request that the broker answered, ms: less than the two silent heartbeats
 * after which the broker may redeliver them.
 */
export const LEASE_MS = HEARTBEAT_S * 1500;

/**
 * @param url usually contains a password
 * @param name shown in the broker's list of connections
 * @param signal ends the attempt; does not affect an open connection
 * @throws Error if there is no broker, or it refuses; the message contains no secret
 */
export async function openBroker(url: string, name: string, signal?: AbortSignal): Promise<BrokerConnection> {
  const address = new URL(url);
  address.searchParams.set("heartbeat", String(HEARTBEAT_S));
  const cutting = new AbortController();
  const options = {
    noDelay: true,
    timeout: CONNECT_MS,
    clientProperties: { connection_name: name },
    // Passed to the socket: the client has no other way to drop a broker that does not answer.
    signal: cutting.signal,
  };
  const cut = (): void => cutting.abort();
  signal?.throwIfAborted();
  signal?.addEventListener("abort", cut, { once: true });
  try {
    return new BrokerConnection(await connect(address.href, options), cutting);
  } finally {
    signal?.removeEventListener("abort", cut);
  }
}

/** Whether the broker refused a call with this reply code of AMQP, which amqplib sets as `code`. */
export function isRefusedWith(error: unknown, code: number): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

export class BrokerConnection {
  readonly model: ChannelModel;
  /** Resolves with the reason once the connection is over. */
  readonly closed: Promise<string>;
  #isOpen = true;
  readonly #cutting: AbortController;
  readonly #end: (why: string) => void;

  constructor(model: ChannelModel, cutting: AbortController) {
    this.model = model;
    this.#cutting = cutting;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.#end = (why) => {
      this.#isOpen = false;
      resolve(why);
    };
    const onEnd = (error: unknown): void =>
      this.#end(error === undefined ? "it was closed" : errorMessage(error));
    model.on("error", onEnd);
    model.on("close", onEnd);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Opens a channel; a refusal by the broker closes that channel only. @throws Error if the connection is over */
  async openChannel(): Promise<Channel> {
    const channel = await this.model.createChannel();
    // Callers get the error; without this listener it would end the process.
    channel.on("error", () => undefined);
    return channel;
  }

  /**
   * Does work on a channel of its own, and closes the channel.
   * @throws Error if the broker refuses a request or misses the limit, or the connection is over
   */
  async onChannel<Result>(work: (channel: Channel) => Promise<Result>, limitMs = ANSWER_MS): Promise<Result> {
    const done = await withDeadline(
      this.#onChannel(work).then((result) => ({ result })),
      limitMs,
    );
    if (done === null) throw new Error("RabbitMQ did not answer in time");
    return done.result;
  }

  async #onChannel<Result>(work: (channel: Channel) => Promise<Result>): Promise<Result> {
    const channel = await this.openChannel();
    const result = await work(channel);
    // If the connection ends during the close, the client never settles the call.
    const isClosed = channel.close().then(() => null);
    const why = await Promise.race([isClosed, this.closed]);
    if (why !== null) throw new Error(why);
    return result;
  }

  /** Ends the connection at once, even if the broker does not answer. */
  cut(): void {
    this.#end("it was cut");
    this.#cutting.abort();
  }

  /** Closes the connection in order; cuts it at a deadline. */
  async close(): Promise<void> {
    if (!this.#isOpen) return this.cut();
    const late = setTimeout(() => this.cut(), CLOSE_MS);
    await Promise.race([this.model.close().catch(() => undefined), this.closed]);
    clearTimeout(late);
    this.cut();
  }
}
