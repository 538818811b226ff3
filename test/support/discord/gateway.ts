import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";

import { GatewayCloseCodes, GatewayIntentBits, GatewayOpcodes } from "discord.js";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import { z } from "zod";

import { Deliveries } from "./deliveries.ts";
import { GatewayConnection } from "./gateway-connection.ts";
import { GatewaySession } from "./gateway-session.ts";
import type { Journal } from "./journal.ts";
import { applicationFlags, toGuildCreate, toUser } from "./payloads.ts";
import type { WorldEvent } from "./records.ts";
import type { State } from "./state.ts";

const frameOf = z.looseObject({ op: z.enum(GatewayOpcodes), d: z.unknown() });
const identifyOf = z.looseObject({
  token: z.string(),
  intents: z.number(),
  shard: z.tuple([z.number(), z.number()]).default([0, 1]),
});
const resumeOf = z.looseObject({ token: z.string(), session_id: z.string(), seq: z.number() });

/** All existing intents; another bit is 4013. */
const KNOWN_INTENTS = Object.values(GatewayIntentBits)
  .filter((bit) => typeof bit === "number")
  .reduce((all, bit) => all | bit, 0);

/** A fault for the next client that takes this step. */
export interface GatewayFault {
  /** `upgrade`: before the WebSocket exists. */
  readonly on: "upgrade" | "open" | "identify" | "resume";
  readonly do:
    | { readonly kind: "close"; readonly code: number }
    | { readonly kind: "invalid-session"; readonly isResumable: boolean }
    | { readonly kind: "cut"; readonly isReset?: boolean }
    /** Sends this as one frame. Not at `upgrade`. */
    | { readonly kind: "text"; readonly text: string }
    /** Stays silent. */
    | { readonly kind: "silence" };
  readonly times?: number;
}

/** The gateway: `ws://…/gateway` at first, `ws://…/resume` for a resume. */
export class Gateway {
  /** Faults of single events. */
  readonly deliveries = new Deliveries((event) => this.#deliver(event));
  readonly #state: State;
  readonly #journal: Journal;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #sessions = new Map<string, GatewaySession>();
  readonly #open = new Set<GatewayConnection>();
  /** Connections whose upgrade has no answer yet. */
  readonly #unanswered = new Set<Socket>();
  readonly #faults: { readonly fault: GatewayFault; times: number }[] = [];
  #connections = 0;
  #withholdsAcks = false;

  constructor(state: State, journal: Journal) {
    this.#state = state;
    this.#journal = journal;
  }

  listen(server: Server): void {
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (!(socket instanceof Socket)) throw new Error("Upgrades come over TCP here.");
      socket.on("error", () => undefined);
      const fault = this.#takeFault("upgrade");
      if (fault?.kind === "silence") {
        this.#unanswered.add(socket.resume());
        return;
      }
      if (fault !== null) {
        if (fault.kind === "cut" && fault.isReset === true) socket.resetAndDestroy();
        else socket.end("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#accept(ws, socket, request.url ?? ""));
    });
  }

  openConnections(): number {
    return this.#open.size;
  }

  /** Number of connections that wait for the answer to their upgrade. */
  unanswered(): number {
    return [...this.#unanswered].filter(({ readableEnded }) => !readableEnded).length;
  }

  next(fault: GatewayFault): void {
    this.#faults.push({ fault, times: fault.times ?? 1 });
  }

  /** Op 7: asks all clients to reconnect and resume. */
  reconnect(): void {
    for (const connection of this.#open) connection.send({ op: GatewayOpcodes.Reconnect });
  }

  /** Op 9. Not resumable: the sessions end, and later events are only in the history. */
  invalidate(isResumable: boolean): void {
    if (!isResumable) this.#sessions.clear();
    for (const connection of this.#open)
      connection.send({ op: GatewayOpcodes.InvalidSession, d: isResumable });
  }

  /** Forgets every session without notice, so that a RESUME fails. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  /** Closes all connections with a close frame. */
  close(code: number, reason = ""): void {
    for (const connection of this.#open) connection.close(code, reason);
  }

  /**
   * Ends the TCP connections without a close frame.
   * @param options isReset: by RST, not FIN; shard: only this one's
   */
  cut(options: { isReset?: boolean; shard?: number } = {}): void {
    const { shard } = options;
    const sessions = [...this.#sessions.values()].filter((one) => one.shard[0] === shard);
    const cut = shard === undefined ? this.#open : sessions.flatMap(({ connection }) => connection ?? []);
    for (const connection of cut) connection.cut(options.isReset ?? false);
    for (const socket of this.#unanswered) socket.destroy();
    this.#unanswered.clear();
  }

  freeze(): void {
    for (const connection of this.#open) connection.freeze();
  }

  thaw(): void {
    for (const connection of this.#open) if (connection.isFrozen) connection.thaw();
  }

  /** Stops the ACKs of heartbeats, which a client must notice; false restores them. */
  withholdAcks(isWithheld = true): void {
    this.#withholdsAcks = isWithheld;
  }

  /** Requests an extra heartbeat, as the real service may. */
  askHeartbeat(): void {
    for (const connection of this.#open) connection.send({ op: GatewayOpcodes.Heartbeat, d: null });
  }

  /** Sends any event to every session, numbered as usual. */
  dispatch(t: string, d: unknown): void {
    for (const session of this.#sessions.values()) session.dispatch(t, d);
  }

  /** Sends one text frame to all, JSON or not. */
  sendText(text: string): void {
    for (const connection of this.#open) connection.sendText(text);
  }

  async stop(): Promise<void> {
    for (const connection of this.#open) connection.cut(false);
    const closed = once(this.#sockets, "close");
    this.#sockets.close();
    await closed;
  }

  #accept(ws: WebSocket, socket: Socket, path: string): void {
    this.#connections += 1;
    const number = this.#connections;
    const connection = new GatewayConnection(number, ws, socket, this.#journal);
    this.#note(number, { direction: "open", path });
    this.#open.add(connection);
    ws.on("error", () => undefined);
    ws.on("close", (code) => this.#closed(connection, code));
    ws.on("message", (data: RawData) => this.#received(connection, data));
    if (this.#meetsFault("open", connection)) return;
    const heartbeat_interval = this.#state.options.heartbeatIntervalMs;
    connection.send({ op: GatewayOpcodes.Hello, d: { heartbeat_interval, _trace: [] } });
  }

  #closed(connection: GatewayConnection, code: number): void {
    this.#open.delete(connection);
    this.#note(connection.number, { direction: "close", code });
    for (const session of this.#sessions.values()) {
      if (session.connection !== connection) continue;
      session.connection = null;
      // A close with 1000 or 1001 ends the session; after any other end it can be resumed.
      if (code === 1000 || code === 1001) this.#sessions.delete(session.id);
    }
  }

  #received(connection: GatewayConnection, data: RawData): void {
    const frame = frameOf.safeParse(parseJson(data));
    if (!frame.success) {
      connection.close(GatewayCloseCodes.DecodeError);
      return;
    }
    const { op, d } = frame.data;
    this.#note(connection.number, { direction: "in", op, d });
    if (op === GatewayOpcodes.Heartbeat) {
      if (!this.#withholdsAcks) connection.send({ op: GatewayOpcodes.HeartbeatAck });
    } else if (op === GatewayOpcodes.Identify) this.#identify(connection, d);
    else if (op === GatewayOpcodes.Resume) this.#resume(connection, d);
  }

  #identify(connection: GatewayConnection, d: unknown): void {
    if (this.#meetsFault("identify", connection)) return;
    const identify = identifyOf.parse(d);
    const { options, bot } = this.#state;
    if (identify.token !== options.token) {
      connection.close(GatewayCloseCodes.AuthenticationFailed, "Authentication failed.");
      return;
    }
    if ((identify.intents & ~KNOWN_INTENTS) !== 0) {
      connection.close(GatewayCloseCodes.InvalidIntents, "Invalid intent(s).");
      return;
    }
    if ((identify.intents & GatewayIntentBits.MessageContent) !== 0 && !options.allowsMessageContent) {
      connection.close(GatewayCloseCodes.DisallowedIntents, "Disallowed intent(s).");
      return;
    }
    const session = new GatewaySession(identify.intents, identify.shard, connection, options.replayLimit);
    this.#sessions.set(session.id, session);
    const guilds = [...this.#state.guilds.values()].filter(({ id }) => session.tellsOf(id));
    session.dispatch("READY", {
      v: 10,
      user: { ...toUser(bot), email: null, flags: 0, verified: true, mfa_enabled: false },
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: options.resumeUrl ?? `${this.#state.origin.replace("http", "ws")}/resume`,
      shard: identify.shard,
      session_type: "normal",
      private_channels: [],
      application: { id: bot.id, flags: applicationFlags(this.#state) },
    });
    if ((identify.intents & GatewayIntentBits.Guilds) === 0) return;
    for (const guild of guilds) session.dispatch("GUILD_CREATE", toGuildCreate(this.#state, guild));
  }

  #resume(connection: GatewayConnection, d: unknown): void {
    if (this.#meetsFault("resume", connection)) return;
    const resume = resumeOf.parse(d);
    if (resume.token !== this.#state.options.token) {
      connection.close(GatewayCloseCodes.AuthenticationFailed, "Authentication failed.");
      return;
    }
    const session = this.#sessions.get(resume.session_id);
    if (session === undefined || !session.canReplayFrom(resume.seq)) {
      this.#sessions.delete(resume.session_id);
      connection.send({ op: GatewayOpcodes.InvalidSession, d: false });
    } else if (resume.seq > session.seq) {
      connection.close(GatewayCloseCodes.InvalidSeq, "Invalid seq.");
    } else {
      session.connection = connection;
      session.replayFrom(resume.seq);
    }
  }

  #deliver(event: WorldEvent): void {
    for (const session of this.#sessions.values()) if (session.wants(event)) session.deliver(event);
  }

  #takeFault(on: GatewayFault["on"]): GatewayFault["do"] | null {
    const entry = this.#faults.find(({ fault, times }) => fault.on === on && times > 0);
    if (entry === undefined) return null;
    entry.times -= 1;
    return entry.fault.do;
  }

  #meetsFault(on: GatewayFault["on"], connection: GatewayConnection): boolean {
    const fault = this.#takeFault(on);
    if (fault === null) return false;
    if (fault.kind === "close") connection.close(fault.code);
    if (fault.kind === "cut") connection.cut(fault.isReset ?? false);
    if (fault.kind === "text") connection.sendText(fault.text);
    if (fault.kind === "invalid-session") {
      connection.send({ op: GatewayOpcodes.InvalidSession, d: fault.isResumable });
    }
    return true;
  }

  #note(connection: number, entry: Omit<Journal["gateway"][number], "connection" | "at">): void {
    this.#journal.gateway.push({ connection, at: performance.now(), ...entry });
  }
}

function parseJson(data: RawData): unknown {
  try {
    return JSON.parse(Buffer.isBuffer(data) ? data.toString("utf8") : "");
  } catch {
    return null;
  }
}
