import { withDeadline } from "../../../async/deadline.ts";
import { type App, SocketModeReceiver } from "@slack/bolt";
import type { Logger } from "pino";
import { z } from "zod";
import { errorMessage, OperatorError } from "../../../core/errors.ts";
import { proxyDispatcher } from "../../../network/use-proxies.ts";
import type { Session } from "../../shared/connection.ts";
import { ownAddress } from "../../shared/own-address.ts";
import { Unread } from "../../intake/unread.ts";
import { PlatformError } from "../../platform.ts";
import { clientOptions, toSlackError } from "../web/api.ts";
import { SlackError } from "../web/slack-error.ts";
import { type Handlers } from "./bolt-app.ts";
import { boltLogger } from "./bolt-logger.ts";
import { forOperator } from "../web/api-errors.ts";
import type { SlackTiming } from "../timing.ts";

interface SocketParts {
  readonly appToken: string;
  readonly apiUrl: string | null;
  readonly createApp: (receiver: SocketModeReceiver) => App;
  readonly handlers: Pick<Handlers, "connected" | "disconnected">;
  readonly log: Logger;
  readonly timing: SlackTiming;
}

type Client = SocketModeReceiver["client"];
type Envelope = {
  readonly type: string;
  readonly body: Record<string, unknown>;
  readonly ack: (answer?: unknown) => Promise<void>;
  readonly retry_num?: number;
};

type Listener = ReturnType<Client["listeners"]>[number];

const disconnectFrame = z.object({ type: z.literal("disconnect"), reason: z.string().max(100).optional() });
const frameType = z.object({ type: z.string() });
const envelopeFrame = z.object({
  type: z.enum(["events_api", "slash_commands", "interactive"]),
  envelope_id: z.string(),
  payload: z.looseObject({}),
});
const eventOf = z.object({ payload: z.object({ event: z.object({ type: z.string() }) }) });

const SOCKET_HOSTS = ["slack.com"];

/** Longest wait for the end of a socket or of an attempt to open one. */
const END_MS = 1000;

/**
 * Socket Mode: opens a socket, and a new one whenever Slack asks. Bolt's own reconnecting is off: it ends the
 * process if the token was revoked.
 * @throws OperatorError if the token or the app's settings must be changed
 */
export async function openSocketSession(parts: SocketParts, signal: AbortSignal): Promise<Session> {
  const session = new SocketSession(parts);
  const onAbort = (): void => void session.close();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await session.open();
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  return session;
}

class SocketSession implements Session {
  readonly closed: Promise<Error | null>;
  readonly #parts: SocketParts;
  readonly #client: Client;
  readonly #app: App;
  readonly #unread: Unread;
  readonly #end = Promise.withResolvers<Error | null>();
  /** Resolves when the current socket is lost. */
  #lost = Promise.withResolvers<void>();
  /** Slack's reason for closing the socket. */
  #reason: string | null = null;
  #starting: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  /** The current socket has said hello. */
  #isGreeted = false;

  constructor(parts: SocketParts) {
    const { appToken, apiUrl, log, timing } = parts;
    this.#parts = parts;
    this.#unread = new Unread("slack", log);
    this.closed = this.#end.promise;
    const receiver = new SocketModeReceiver({
      appToken,
      dispatcher: proxyDispatcher(),
      autoReconnectEnabled: false,
      clientPingTimeout: timing.pingMs,
      logger: boltLogger(log),
      installerOptions: { clientOptions: clientOptions({ apiUrl, timeoutMs: timing.callMs, log }) },
    });
    this.#client = receiver.client;
    this.#app = parts.createApp(receiver);
    // Bolt's own listener acknowledges before the work is done.
    this.#client.removeAllListeners("slack_event");
    this.#client.on("slack_event", (envelope: Envelope) => void this.#take(envelope));
    // The client opens a socket at this address right after.
    this.#client.on("authenticated", ({ url }: { readonly url: string }) => {
      if (ownAddress(url, { hosts: SOCKET_HOSTS, apiUrl }) === null)
        throw new SlackError("unavailable", "Slack named an address for a socket that is none of its own");
    });
    this.#client.on("connected", () => parts.handlers.connected());
    this.#client.on("disconnected", () => {
      parts.handlers.disconnected();
      this.#lost.resolve();
    });
    const readers = this.#client.listeners("ws_message");
    this.#client.removeAllListeners("ws_message");
    this.#client.on("ws_message", (data: unknown) => this.#receive(data, readers));
  }

  async open(): Promise<void> {
    await this.#start();
    void this.#keep();
  }

  /** Resolves when the socket is closed or given up. May be called twice. */
  async close(): Promise<void> {
    this.#isClosing = true;
    // A socket whose address is being requested would still open.
    await withDeadline(
      this.#starting.catch(() => undefined),
      END_MS,
    );
    await this.#disconnect();
    this.#end.resolve(null);
  }

  /** @throws Error, also if no hello comes in time */
  async #start(): Promise<void> {
    const { timing } = this.#parts;
    this.#lost = Promise.withResolvers<void>();
    this.#reason = null;
    this.#isGreeted = false;
    this.#starting = this.#client.start();
    try {
      if ((await withDeadline(this.#starting, timing.helloMs)) !== null) {
        // Closed during the address request.
        if (this.#isClosing) await this.#disconnect();
        return;
      }
    } catch (error) {
      if (error !== undefined)
        throw forOperator(toSlackError("apps.connections.open", error), "SLACK_APP_TOKEN");
      throw this.#reason === null ? new Error("Slack's socket closed before its hello.") : this.#why();
    }
    await this.#disconnect();
    throw new Error(`Slack's socket said no hello within ${timing.helloMs / 1000} s.`);
  }

  /** Must not throw. */
  async #keep(): Promise<void> {
    const { timing, log } = this.#parts;
    for (;;) {
      const openedAt = performance.now();
      await this.#lost.promise;
      if (this.#isClosing) return;
      const isShort = performance.now() - openedAt < timing.shortMs;
      if (isShort || this.#reason === "link_disabled") return this.#end.resolve(this.#why());
      log.info({ platform: "slack", reason: this.#reason ?? "closed" }, "socket_renewed");
      try {
        await this.#start();
      } catch (error) {
        return this.#end.resolve(error instanceof Error ? error : new Error(errorMessage(error)));
      }
    }
  }

  #why(): Error {
    if (this.#reason === "link_disabled")
      return new OperatorError(
        "Socket Mode was switched off: switch it on again at https://api.slack.com/apps, Socket Mode.",
      );
    if (this.#reason === "too_many_websockets")
      return new PlatformError(
        "slack",
        "unavailable",
        "Slack gives an app ten sockets, and all are taken: this one waits until another daemon leaves",
        { retryAfterMs: this.#parts.timing.fullMs },
      );
    return new Error(`Slack's socket was closed${this.#reason === null ? "" : ` (${this.#reason})`}.`);
  }

  /** Acknowledges only durable events; others come again. Must not throw. */
  async #take({ type, body, ack, retry_num: retryNum }: Envelope): Promise<void> {
    const isEvent = type === "events_api";
    try {
      await this.#app.processEvent({
        body,
        ack: isEvent ? async () => undefined : ack,
        ...(retryNum !== undefined && { retryNum }),
      });
      if (isEvent) await ack();
    } catch (error) {
      this.#parts.log.debug({ platform: "slack", type, why: errorMessage(error) }, "not_acknowledged");
    }
  }

  /**
   * The library parses frames unchecked in a function that nobody awaits, and emits them under its own event
   * names: an error there would end the process. So it gets only valid frames.
   */
  #receive(data: unknown, readers: readonly Listener[]): void {
    try {
      if (typeof data !== "string" || !this.#isForReaders(JSON.parse(data))) return;
      for (const reader of readers)
        Promise.resolve(reader(data, false)).catch((error: unknown) => this.#unread.tell("frame", error));
    } catch (error) {
      this.#unread.tell("frame", error);
    }
  }

  /** @throws Error if the frame is invalid */
  #isForReaders(frame: unknown): boolean {
    const { type } = frameType.parse(frame);
    if (type === "hello") {
      const isFirst = !this.#isGreeted;
      this.#isGreeted = true;
      return isFirst;
    }
    if (type === "disconnect") {
      this.#reason = disconnectFrame.parse(frame).reason ?? this.#reason;
      return true;
    }
    if (!envelopeFrame.safeParse(frame).success) return this.#refuse(type);
    if (type !== "events_api") return true;
    const event = eventOf.parse(frame).payload.event.type;
    return this.#client.eventNames().includes(event) ? this.#refuse(event) : true;
  }

  #refuse(type: string): boolean {
    this.#unread.tell(type, new Error("it is nothing that Slack says over a socket"));
    return false;
  }

  /** The second attempt does not wait for the peer, which may be dead. */
  async #disconnect(): Promise<void> {
    const first = this.#client.disconnect();
    const isDone = await withDeadline(
      first.then(() => true),
      END_MS,
    );
    if (isDone === null) await withDeadline(this.#client.disconnect(), END_MS);
  }
}
