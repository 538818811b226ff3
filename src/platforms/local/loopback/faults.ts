import type { Fault } from "./protocol.ts";

/** The faults that were asked for, in that order. */
export class FaultScript {
  readonly #faults: { readonly fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#faults.push({ fault, left: fault.times });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** Uses up one occurrence of the first fault of this operation. @returns null: there is none */
  take(operation: Fault["operation"]): Fault | null {
    const index = this.#faults.findIndex(({ fault }) => fault.operation === operation);
    const next = this.#faults[index];
    if (next === undefined) return null;
    next.left -= 1;
    if (next.left === 0) this.#faults.splice(index, 1);
    return next.fault;
  }
}
