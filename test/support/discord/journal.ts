/** One REST call, as it came and as it was answered. */
export interface RestEntry {
  readonly method: string;
  /** Path below `/api/v10`, with its query. */
  readonly path: string;
  /** Pattern of the path, as `/channels/:channel/messages`; the path itself where no route fits. */
  readonly route: string;
  readonly body: unknown;
  /** `performance.now()` when the whole request was here. */
  readonly at: number;
  /** Null as long as, and if, no answer was sent. */
  status: number | null;
  /** Whether the server did what the request asks for. */
  isCommitted: boolean;
  /** Kind of the fault that it met. */
  fault: string | null;
}

/** One gateway frame, or the beginning or end of a connection. */
export interface GatewayEntry {
  readonly connection: number;
  readonly at: number;
  readonly direction: "in" | "out" | "open" | "close";
  readonly op?: number;
  readonly t?: string;
  readonly s?: number;
  readonly d?: unknown;
  /** Path of the connection, where it opens. */
  readonly path?: string;
  /** Close code, where it closes. */
  readonly code?: number;
}

/** Everything that went over the wire, oldest first. */
export class Journal {
  readonly rest: RestEntry[] = [];
  readonly gateway: GatewayEntry[] = [];

  /** @param route pattern as in the route table */
  calls(method: string, route: string): RestEntry[] {
    return this.rest.filter((entry) => entry.method === method && entry.route === route);
  }

  /** Frames that the client sent with this opcode. */
  received(op: number): GatewayEntry[] {
    return this.gateway.filter((entry) => entry.direction === "in" && entry.op === op);
  }

  /** Dispatches of this type that went out, replays included. */
  dispatched(t: string): GatewayEntry[] {
    return this.gateway.filter((entry) => entry.direction === "out" && entry.t === t);
  }

  /** The connections' ends, or beginnings. */
  connections(direction: "open" | "close"): GatewayEntry[] {
    return this.gateway.filter((entry) => entry.direction === direction);
  }
}
