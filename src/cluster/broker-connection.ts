import { type Channel, type ChannelModel, connect } from "amqplib";
import { withDeadline } from "../async/deadline.ts";
import { errorMessage } from "../core/errors.ts";

/** What both sides say at least once, s. A broker that hears nothing for two to three of them gives the batons to others. */
const HEARTBEAT_S = 2;
/** A connection has to stand by then, ms. */
const CONNECT_MS = 5000;
/** An orderly end may take so long, ms. */
const CLOSE_MS = 2000;
/** A broker that lives may leave a single question without an answer for ever; it is waited for so long, ms. */
const ANSWER_MS = 10_000;

/**
 * A member counts on its batons for so long after the sending of a question that the broker has answered, ms: less than the two
 * heartbeats of silence after which the broker may give them to another.
 */
export const LEASE_MS = HEARTBEAT_S * 1500;

/** An open connection to the broker. */
export interface BrokerConnection {
  readonly model: ChannelModel;
  readonly isOpen: boolean;
  /** Resolves once it is over, with why. */
  readonly closed: Promise<string>;
  /** Opens a channel of which nothing but itself ends where the broker refuses something. @throws Error if the connection is over */
  openChannel(): Promise<Channel>;
  /**
   * Does work on a channel of its own, and closes that.
   * @param limitMs default: 10 s
   * @throws Error if the broker refuses something, does not answer by then, or the connection is over
   */
  onChannel<Result>(work: (channel: Channel) => Promise<Result>, limitMs?: number): Promise<Result>;
  /** Ends it at once, also where nobody answers. */
  cut(): void;
  /** Ends it in order, or at once after a while. */
  close(): Promise<void>;
}

/**
 * @param url holds a password as a rule
 * @param name what people see of it in the broker's lists
 * @param signal ends the attempt, and nothing of an open connection
 * @throws Error if there is no broker, or it refuses; no secret is in its message
 */
export async function openBroker(url: string, name: string, signal?: AbortSignal): Promise<BrokerConnection> {
  const address = new URL(url);
  address.searchParams.set("heartbeat", String(HEARTBEAT_S));
  const cutting = new AbortController();
  const options = {
    noDelay: true,
    timeout: CONNECT_MS,
    clientProperties: { connection_name: name },
    // Goes to the socket: the client has no other way to leave a broker that does not answer.
    signal: cutting.signal,
  };
  const cut = (): void => cutting.abort();
  signal?.throwIfAborted();
  signal?.addEventListener("abort", cut, { once: true });
  try {
    return new Open(await connect(address.href, options), cutting);
  } finally {
    signal?.removeEventListener("abort", cut);
  }
}

class Open implements BrokerConnection {
  readonly model: ChannelModel;
  readonly closed: Promise<string>;
  isOpen = true;
  readonly #cutting: AbortController;
  readonly #end: (why: string) => void;

  constructor(model: ChannelModel, cutting: AbortController) {
    this.model = model;
    this.#cutting = cutting;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.#end = (why) => {
      this.isOpen = false;
      resolve(why);
    };
    const onEnd = (error: unknown): void =>
      this.#end(error === undefined ? "it was closed" : errorMessage(error));
    model.on("error", onEnd);
    model.on("close", onEnd);
  }

  async openChannel(): Promise<Channel> {
    const channel = await this.model.createChannel();
    // What fails tells whoever asked; an error to which nobody listens would end the process.
    channel.on("error", () => undefined);
    return channel;
  }

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
    // The client tells nobody what becomes of a channel that is being closed when its connection ends.
    const isClosed = channel.close().then(() => null);
    const why = await Promise.race([isClosed, this.closed]);
    if (why !== null) throw new Error(why);
    return result;
  }

  cut(): void {
    this.#end("it was cut");
    this.#cutting.abort();
  }

  async close(): Promise<void> {
    if (!this.isOpen) return this.cut();
    const late = setTimeout(() => this.cut(), CLOSE_MS);
    await Promise.race([this.model.close().catch(() => undefined), this.closed]);
    clearTimeout(late);
    this.cut();
  }
}
