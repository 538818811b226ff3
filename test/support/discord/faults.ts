/** Before or after the server has done the request's work. */
export type When = "before" | "after";

export type Fault =
  /** Answers with this status; by default with a body of Discord's proxy. */
  | { readonly kind: "status"; readonly status: number; readonly body?: unknown; readonly when?: When }
  | { readonly kind: "rate-limit"; readonly retryAfterMs: number; readonly isGlobal?: boolean }
  /** The socket is reset (RST): the client sees ECONNRESET. */
  | { readonly kind: "reset"; readonly when: When }
  /** The socket is closed (FIN) without an answer. */
  | { readonly kind: "close"; readonly when: When }
  | { readonly kind: "delay"; readonly ms: number; readonly when?: When }
  /** No answer, and the socket stays open. */
  | { readonly kind: "hang"; readonly when: When };

export interface FaultOrder {
  /** Default: any. */
  readonly method?: string;
  /** Pattern as in the route table, as `/channels/:channel/messages`. Default: any. */
  readonly route?: string;
  readonly fault: Fault;
  /** Number of affected requests. Default: 1. */
  readonly times?: number;
  /** Number of matching requests to skip first. Default: 0. */
  readonly skip?: number;
}

/** The planned faults. Each request gets the first matching one that is left. */
export class Faults {
  readonly #orders: { readonly order: FaultOrder; skip: number; times: number }[] = [];

  next(order: FaultOrder): void {
    this.#orders.push({ order, skip: order.skip ?? 0, times: order.times ?? 1 });
  }

  clear(): void {
    this.#orders.length = 0;
  }

  take(method: string, route: string): Fault | null {
    for (const entry of this.#orders) {
      if ((entry.order.method ?? method) !== method || (entry.order.route ?? route) !== route) continue;
      if (entry.skip > 0) {
        entry.skip -= 1;
        continue;
      }
      if (entry.times === 0) continue;
      entry.times -= 1;
      return entry.order.fault;
    }
    return null;
  }
}
