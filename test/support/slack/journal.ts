import { Patience } from "../patience.ts";
import type { JsonObject } from "./model.ts";

export type CallOutcome = "open" | "answered" | "refused" | "rate_limited" | "status" | "reset" | "hung";

/** A call of the Web API. */
export interface CallEntry {
  readonly kind: "call";
  readonly method: string;
  readonly args: JsonObject;
  readonly token: string | undefined;
  outcome: CallOutcome;
  /** The error code of a refusal. */
  error: string | undefined;
  /** Whether it changed the world, or would have if calls of its kind change anything. */
  committed: boolean;
}

/** One attempt at a delivery to the app. */
export interface EnvelopeEntry {
  readonly kind: "envelope";
  readonly envelopeId: string;
  readonly type: string;
  /** Number of the socket, ascending; `http`: the request URL; `none`: there was no socket. */
  readonly via: number | "http" | "none";
  readonly retryAttempt: number;
  readonly retryReason: string;
  readonly eventId: string | undefined;
  readonly payload: JsonObject;
}

/** `accepted`: it came in time and on its envelope's socket. */
export interface AckEntry {
  readonly kind: "ack";
  readonly envelopeId: string;
  readonly via: number | "http";
  readonly accepted: boolean;
  readonly payload: unknown;
  /** HTTP only. */
  readonly status: number | undefined;
}

export interface SocketEntry {
  readonly kind: "socket";
  readonly socket: number;
  readonly state: "open" | "closed";
  /** The close code; 1006: no close frame. */
  readonly code: number | undefined;
}

/** A POST to a response_url. `status`: of the answer. */
export interface ResponseEntry {
  readonly kind: "response";
  readonly body: JsonObject;
  readonly status: number;
}

/** An event that was given up after its last attempt. */
export interface GivenUpEntry {
  readonly kind: "given_up";
  readonly eventId: string | undefined;
}

export interface DownloadEntry {
  readonly kind: "download";
  readonly fileId: string;
  readonly status: number;
}

export type JournalEntry =
  | CallEntry
  | EnvelopeEntry
  | AckEntry
  | SocketEntry
  | ResponseEntry
  | GivenUpEntry
  | DownloadEntry;

/** Interval at which a condition is checked without a call of the app, since it may be about the app's state, ms. */
const LOOK_MS = 20;

/** All traffic, oldest first. */
export class Journal {
  readonly entries: JournalEntry[] = [];
  readonly #waiting = new Set<() => void>();

  add<Entry extends JournalEntry>(entry: Entry): Entry {
    this.entries.push(entry);
    this.changed();
    return entry;
  }

  /** Makes all waiters check again. */
  changed(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Calls of one method, or of all. */
  calls(method?: string): readonly CallEntry[] {
    return this.#of("call").filter((entry) => method === undefined || entry.method === method);
  }

  /** Envelopes of one type (`events_api`, `slash_commands`, `interactive`), or of all. */
  envelopes(type?: string): readonly EnvelopeEntry[] {
    return this.#of("envelope").filter((entry) => type === undefined || entry.type === type);
  }

  get acks(): readonly AckEntry[] {
    return this.#of("ack");
  }

  get sockets(): readonly SocketEntry[] {
    return this.#of("socket");
  }

  get responses(): readonly ResponseEntry[] {
    return this.#of("response");
  }

  get givenUp(): readonly GivenUpEntry[] {
    return this.#of("given_up");
  }

  get downloads(): readonly DownloadEntry[] {
    return this.#of("download");
  }

  /**
   * Resolves with the function's result once it is truthy; it is called again after each journaled or posted item.
   * @throws Error if nothing more is journaled
   */
  async until<Found>(
    what: string,
    look: () => Found | undefined | false | null,
    silentMs?: number,
  ): Promise<Found> {
    const patience = new Patience(() => this.entries.length, silentMs);
    for (;;) {
      const found = look();
      if (found !== undefined && found !== false && found !== null) return found;
      const why = patience.whyOver();
      if (why !== null) throw new Error(`Slack test server: ${what} did not come about: ${why}`);
      await this.#next();
    }
  }

  async #next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOOK_MS);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  #of<Kind extends JournalEntry["kind"]>(kind: Kind): readonly Extract<JournalEntry, { kind: Kind }>[] {
    return this.entries.filter(
      (entry): entry is Extract<JournalEntry, { kind: Kind }> => entry.kind === kind,
    );
  }
}
