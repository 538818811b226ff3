import { setTimeout as delay } from "node:timers/promises";
import { unlessAborted } from "../../../src/async/deadline.ts";
import type { JsonObject } from "./model.ts";

/** A fault of a Web API call, or of a file's download. `before` and `after`: its commit. */
export type Fault =
  | {
      readonly fault: "error";
      /** Such as `invalid_auth`, `missing_scope`. */
      readonly error: string;
      readonly needed?: string;
      readonly provided?: string;
    }
  | { readonly fault: "rate_limited"; readonly retryAfterS: number }
  | { readonly fault: "status"; readonly status: number; readonly body?: string }
  | { readonly fault: "slow_before" | "slow_after"; readonly delayMs: number }
  /** Until the test lets it go on. */
  | { readonly fault: "slow_before" | "slow_after"; readonly until: Promise<unknown> }
  /** Cut off at once, for the client like any call that it gives up; carried out when the test lets it. */
  | { readonly fault: "late"; readonly until: Promise<unknown> }
  | { readonly fault: "reset_before" | "reset_after" | "hang_before" | "hang_after" };

export type ScriptedFault = Fault & {
  /**
   * `chat.postMessage`, `apps.connections.open`, …; `files.download` for a download, `response_url` for a post to one;
   * `*` for any.
   */
  readonly method: string;
  /** Only calls with this `channel`. */
  readonly channel?: string;
  /** Default: once. `Infinity`: until `clear`. */
  readonly times?: number;
};

type SlowFault = Extract<Fault, { readonly fault: "slow_before" | "slow_after" | "late" }>;

/** Waits as a slow call does. @throws Error when the server stops */
export async function waitAsSlow(fault: SlowFault, stopping: AbortSignal): Promise<void> {
  if ("delayMs" in fault) await delay(fault.delayMs, undefined, { signal: stopping });
  else await unlessAborted(fault.until, stopping);
  stopping.throwIfAborted();
}

/** The planned faults, in order. */
export class FaultScript {
  #faults: { readonly fault: ScriptedFault; left: number }[] = [];

  next(...faults: readonly ScriptedFault[]): void {
    this.#faults.push(...faults.map((fault) => ({ fault, left: fault.times ?? 1 })));
  }

  clear(): void {
    this.#faults = [];
  }

  get pending(): number {
    return this.#faults.reduce((sum, { left }) => sum + left, 0);
  }

  /** The fault of this call, which uses it up once. */
  take(method: string, args: JsonObject): Fault | undefined {
    const found = this.#faults.find(
      ({ fault }) =>
        (fault.method === "*" || fault.method === method) &&
        (fault.channel === undefined || fault.channel === args["channel"]),
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left <= 0) this.#faults = this.#faults.filter((entry) => entry !== found);
    return found.fault;
  }
}
