import type { Socket } from "node:net";

import type { WebSocket } from "ws";

import type { Journal } from "./journal.ts";

export interface Frame {
  readonly op: number;
  readonly d?: unknown;
  readonly s?: number;
  readonly t?: string;
}

/** One WebSocket of a client. It can be frozen: no data passes in either direction, without notice. */
export class GatewayConnection {
  readonly number: number;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #journal: Journal;
  readonly #held: string[] = [];
  #isFrozen = false;

  constructor(number: number, ws: WebSocket, socket: Socket, journal: Journal) {
    this.number = number;
    this.#ws = ws;
    this.#socket = socket;
    this.#journal = journal;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  send(frame: Frame): void {
    this.#journal.gateway.push({
      connection: this.number,
      at: performance.now(),
      direction: "out",
      ...frame,
    });
    this.sendText(JSON.stringify(frame));
  }

  sendText(text: string): void {
    if (this.#isFrozen) this.#held.push(text);
    else if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(text);
  }

  close(code: number, reason = ""): void {
    this.#ws.close(code, reason);
  }

  /** Ends the TCP connection without a close frame: by FIN, or with `isReset` by RST. */
  cut(isReset: boolean): void {
    if (isReset) this.#socket.resetAndDestroy();
    else this.#ws.terminate();
  }

  freeze(): void {
    this.#isFrozen = true;
    this.#ws.pause();
  }

  /** Passes the held data at once. */
  thaw(): void {
    this.#isFrozen = false;
    for (const text of this.#held.splice(0)) this.#ws.send(text);
    this.#ws.resume();
  }
}
