import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";

import type { Carrier, Outcome, Parcel } from "./deliveries.ts";
import type { Journal } from "./journal.ts";

export type DisconnectReason = "warning" | "refresh_requested" | "link_disabled" | "too_many_websockets";

const CLOSE_GRACE_MS = 250;

const ackFrame = z.object({ envelope_id: z.string(), payload: z.unknown().optional() });

interface Link {
  readonly socket: number;
  readonly webSocket: WebSocket;
  /** Slack has not noticed yet: it may still choose this one for an event. */
  isFrozen: boolean;
}

interface Awaited {
  readonly link: Link;
  readonly acknowledge: (body: unknown) => void;
}

export interface SocketHubOptions {
  readonly appId: string;
  readonly ackTimeoutMs: number;
  readonly pingIntervalMs: number;
  readonly maxSockets: number;
}

/** Socket Mode: issues single-use addresses, keeps the sockets and sends each envelope over one of them. */
export class SocketHub implements Carrier {
  readonly #server = new WebSocketServer({ noServer: true, autoPong: true });
  readonly #journal: Journal;
  readonly #options: SocketHubOptions;
  readonly #tickets = new Set<string>();
  readonly #awaited = new Map<string, Awaited[]>();
  #links: Link[] = [];
  #lastSocket = 0;
  #turn = 0;
  #sendsHello = true;
  readonly #pings: NodeJS.Timeout;

  constructor(journal: Journal, options: SocketHubOptions) {
    this.#journal = journal;
    this.#options = options;
    this.#pings = setInterval(() => this.#pingAll(), options.pingIntervalMs).unref();
  }

  get openSockets(): number {
    return this.#links.length;
  }

  /** From now on, sockets open without a hello, so that the app never counts as connected. */
  withholdHello(withheld = true): void {
    this.#sendsHello = !withheld;
  }

  /** A ticket for the address in `apps.connections.open`'s answer. It opens one socket. */
  issueTicket(): string {
    const ticket = crypto.randomUUID();
    this.#tickets.add(ticket);
    return ticket;
  }

  /** Takes over a connection to `/link/?ticket=…`; 403 for a used or unknown ticket. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const ticket = new URL(request.url ?? "", "ws://localhost").searchParams.get("ticket") ?? "";
    if (!this.#tickets.delete(ticket)) {
      stream.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
      return;
    }
    this.#server.handleUpgrade(request, stream, head, (webSocket) => this.#open(webSocket));
  }

  /** Sends a disconnect frame on every socket, or the given one. The client should close and reconnect. */
  disconnect(reason: DisconnectReason, socket?: number): void {
    for (const link of this.#chosen(socket)) {
      this.#send(link, { type: "disconnect", reason, debug_info: { host: "applink-test" } });
    }
  }

  /** Ends the connection without a close frame, like a broken network once it is noticed. */
  cut(socket?: number): void {
    for (const link of this.#chosen(socket)) link.webSocket.terminate();
  }

  /** Closes with a close frame. */
  close(code = 1000, socket?: number): void {
    for (const link of this.#chosen(socket)) link.webSocket.close(code);
  }

  /**
   * Stops all reading and sending, pings and pongs included; the connection stays. Only the client can notice. Until it
   * is thawed or cut, it still gets its share of events, which are lost, as at Slack before it notices.
   */
  freeze(socket?: number): void {
    for (const link of this.#chosen(socket)) {
      link.isFrozen = true;
      link.webSocket.pause();
    }
  }

  thaw(socket?: number): void {
    for (const link of this.#chosen(socket)) {
      link.isFrozen = false;
      link.webSocket.resume();
    }
  }

  /** Sends a made-up frame: no JSON, or an unknown type. */
  sendRaw(frame: string, socket?: number): void {
    for (const link of this.#chosen(socket)) link.webSocket.send(frame);
  }

  async carry(parcel: Parcel): Promise<Outcome> {
    const link = this.#links[this.#turn % Math.max(1, this.#links.length)];
    this.#turn += 1;
    const eventId = parcel.payload["event_id"];
    this.#journal.add({
      kind: "envelope",
      ...parcel,
      eventId: typeof eventId === "string" ? eventId : undefined,
      via: link?.socket ?? "none",
    });
    if (link === undefined) return { isAcknowledged: false, reason: "timeout", isFinal: false };
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const awaited: Awaited = {
      link,
      acknowledge: (body) => resolve({ isAcknowledged: true, body }),
    };
    const { envelopeId } = parcel;
    this.#awaited.set(envelopeId, [...(this.#awaited.get(envelopeId) ?? []), awaited]);
    this.#send(link, toFrame(parcel));
    const timer = setTimeout(
      () => resolve({ isAcknowledged: false, reason: "timeout", isFinal: false }),
      this.#options.ackTimeoutMs,
    ).unref();
    const outcome = await promise;
    clearTimeout(timer);
    this.#forget(envelopeId, awaited);
    return outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#pings);
    this.thaw();
    await Promise.all(this.#links.map(async ({ webSocket }) => end(webSocket)));
    this.#server.close();
  }

  #open(webSocket: WebSocket): void {
    this.#lastSocket += 1;
    const link: Link = { socket: this.#lastSocket, webSocket, isFrozen: false };
    this.#links.push(link);
    // A reset is part of the tests; the close after it counts.
    webSocket.on("error", () => undefined);
    webSocket.on("message", (data) => this.#receive(link, data));
    webSocket.on("close", (code) => {
      this.#links = this.#links.filter((other) => other !== link);
      this.#journal.add({ kind: "socket", socket: link.socket, state: "closed", code });
    });
    this.#journal.add({ kind: "socket", socket: link.socket, state: "open", code: undefined });
    if (this.#links.length > this.#options.maxSockets) {
      this.#send(link, { type: "disconnect", reason: "too_many_websockets" });
      return;
    }
    if (this.#sendsHello) this.#send(link, this.#hello());
  }

  #hello(): object {
    return {
      type: "hello",
      num_connections: this.#links.length,
      debug_info: { host: "applink-test", approximate_connection_time: 18_060 },
      connection_info: { app_id: this.#options.appId },
    };
  }

  #receive(link: Link, data: RawData): void {
    const bytes = data instanceof ArrayBuffer ? Buffer.from(data) : data;
    const text = Array.isArray(bytes) ? Buffer.concat(bytes).toString() : bytes.toString();
    const frame = ackFrame.safeParse(JSON.parse(text));
    if (!frame.success) return;
    const { envelope_id: envelopeId, payload } = frame.data;
    const awaited = this.#awaited.get(envelopeId)?.find((candidate) => candidate.link === link);
    const accepted = awaited !== undefined;
    this.#journal.add({ kind: "ack", envelopeId, via: link.socket, accepted, payload, status: undefined });
    if (awaited === undefined) return;
    // At once: the same envelope may be out twice, with an acknowledgement for each.
    this.#forget(envelopeId, awaited);
    awaited.acknowledge(payload);
  }

  #forget(envelopeId: string, awaited: Awaited): void {
    const left = (this.#awaited.get(envelopeId) ?? []).filter((other) => other !== awaited);
    if (left.length === 0) this.#awaited.delete(envelopeId);
    else this.#awaited.set(envelopeId, left);
  }

  #send(link: Link, frame: object): void {
    if (!link.isFrozen) link.webSocket.send(JSON.stringify(frame));
  }

  #pingAll(): void {
    for (const link of this.#links) {
      if (!link.isFrozen) link.webSocket.ping(`Ping from applink-test (${link.socket})`);
    }
  }

  #chosen(socket: number | undefined): readonly Link[] {
    return this.#links.filter((link) => socket === undefined || link.socket === socket);
  }
}

/** With a close handshake if the client takes part: cut in the middle of one, the real client lingers for 30 s. */
async function end(webSocket: WebSocket): Promise<void> {
  const closed = once(webSocket, "close");
  webSocket.close(1001);
  const timer = setTimeout(() => webSocket.terminate(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}

function toFrame(parcel: Parcel): object {
  const { envelopeId, type, payload } = parcel;
  const frame = {
    envelope_id: envelopeId,
    type,
    payload,
    accepts_response_payload: type !== "events_api",
  };
  if (type !== "events_api") return frame;
  return { ...frame, retry_attempt: parcel.retryAttempt, retry_reason: parcel.retryReason };
}
