import type { Fault } from "./protocol.ts";

/** What is to go wrong, in the order in which it was asked for. */
export class FaultScript {
  readonly #faults: { readonly fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#faults.push({ fault, left: fault.times });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** The fault of this call, which thereby is used up once; null: all goes well. */
  take(operation: Fault["operation"]): Fault | null {
    const index = this.#faults.findIndex(({ fault }) => fault.operation === operation);
    const next = this.#faults[index];
    if (next === undefined) return null;
    next.left -= 1;
    if (next.left === 0) this.#faults.splice(index, 1);
    return next.fault;
  }
}
