/** One REST call with its answer. */
export interface RestEntry {
  readonly method: string;
  /** Path below `/api/v10`, with its query. */
  readonly path: string;
  /** Pattern of the path, as `/channels/:channel/messages`; without a matching route, the path itself. */
  readonly route: string;
  readonly body: unknown;
  /** `performance.now()` when the whole request had arrived. */
  readonly at: number;
  /** Null: no answer was sent. */
  status: number | null;
  /** Whether the server did the request's work. */
  isCommitted: boolean;
  /** Kind of its fault. */
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
  /** The connection's path, at its beginning. */
  readonly path?: string;
  /** The close code, at its end. */
  readonly code?: number;
}

/** All traffic, oldest first. */
export class Journal {
  readonly rest: RestEntry[] = [];
  readonly gateway: GatewayEntry[] = [];

  /** @param route pattern as in the route table */
  calls(method: string, route: string): RestEntry[] {
    return this.rest.filter((entry) => entry.method === method && entry.route === route);
  }

  /** Frames from the client with this opcode. */
  received(op: number): GatewayEntry[] {
    return this.gateway.filter((entry) => entry.direction === "in" && entry.op === op);
  }

  /** Sent dispatches of this type, replays included. */
  dispatched(t: string): GatewayEntry[] {
    return this.gateway.filter((entry) => entry.direction === "out" && entry.t === t);
  }

  /** The connections' ends, or beginnings. */
  connections(direction: "open" | "close"): GatewayEntry[] {
    return this.gateway.filter((entry) => entry.direction === direction);
  }
}
