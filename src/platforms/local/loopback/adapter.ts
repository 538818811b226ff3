import { unlessAborted } from "../../../async/deadline.ts";
import type { Backoff } from "../../../async/backoff.ts";
import { z } from "zod";
import { originOf } from "../../../text/displayable.ts";
import { OperatorError } from "../../../core/errors.ts";
import type { OutboundMessage } from "../../../core/message.ts";
import type { ConnectionState, Platform, PlatformCapabilities, PlatformInbox } from "../../platform.ts";
import { toText } from "../messages.ts";
import { LoopbackClient, PLATFORM_NAME } from "./client.ts";
import { EventFeed, type FeedLog } from "./event-feed.ts";
import { MAX_TEXT_LENGTH, replyReceipt } from "./protocol.ts";

export interface LoopbackOptions {
  /** Where the loopback service is: `http://127.0.0.1:4321`. */
  readonly url: string;
  readonly log: FeedLog;
  /** Default: 1,000,000 UTF-16 units. */
  readonly maxTextLength?: number;
  /** A send without an answer fails after this time. Default: 10 s. */
  readonly sendTimeoutMs?: number;
  /** First and longest wait before trying again. Default: 100 ms and 10 s. */
  readonly backOff?: Backoff;
}

const DEFAULT_SEND_TIMEOUT_MS = 10_000;
/** How long one request for events stays open. */
const POLL_MS = 25_000;
const DEFAULT_BACK_OFF = { fromMs: 100, toMs: 10_000 };

/**
 * Weir's side of the loopback service (`server.ts`): events by long poll, texts by request.
 * @throws OperatorError if `url` is no address
 */
export function createLoopback(options: LoopbackOptions): Platform {
  if (!/^https?:$/.test(URL.parse(options.url)?.protocol ?? "")) {
    throw new OperatorError(`platforms.loopback.url must be an address like http://127.0.0.1:4321`);
  }
  return new LoopbackPlatform(options);
}

class LoopbackPlatform implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities;
  readonly #client: LoopbackClient;
  readonly #feed: EventFeed;
  readonly #timeoutMs: number;

  constructor(options: LoopbackOptions) {
    this.#client = new LoopbackClient(options.url);
    this.#timeoutMs = options.sendTimeoutMs ?? DEFAULT_SEND_TIMEOUT_MS;
    this.#feed = new EventFeed({
      client: this.#client,
      log: options.log,
      // Without a user and a password.
      url: originOf(options.url),
      pollMs: POLL_MS,
      timeoutMs: this.#timeoutMs,
      backOff: options.backOff ?? DEFAULT_BACK_OFF,
    });
    this.capabilities = {
      streaming: { intervalMs: 50 },
      takesIdempotencyKeys: true,
      maxTextLength: Math.min(options.maxTextLength ?? MAX_TEXT_LENGTH, MAX_TEXT_LENGTH),
      serves: (channel) => channel.platform === PLATFORM_NAME,
    };
  }

  /** Resolves after the first attempt to reach the service. If it fails, that is logged and retried. */
  async start(inbox: PlatformInbox): Promise<void> {
    await this.#feed.start(inbox);
  }

  async stopIntake(deadline: AbortSignal): Promise<void> {
    await this.#feed.stop();
    await unlessAborted(this.#feed.idle(), deadline);
  }

  async send(message: OutboundMessage): Promise<string> {
    const call = {
      method: "POST",
      path: `/channels/${encodeURIComponent(message.channel.name.toWellFormed())}/replies`,
      body: toText(message),
      idempotencyKey: message.idempotencyKey,
      timeoutMs: this.#timeoutMs,
    } as const;
    return (await this.#client.call(call, replyReceipt)).id;
  }

  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    const channel = encodeURIComponent(message.channel.name.toWellFormed());
    const path = `/channels/${channel}/replies/${encodeURIComponent(messageId)}`;
    await this.#client.call(
      { method: "PATCH", path, body: toText(message), timeoutMs: this.#timeoutMs },
      z.object({}),
    );
  }

  connection(): ConnectionState {
    return this.#feed.state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopIntake(AbortSignal.abort());
  }
}
