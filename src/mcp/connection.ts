import type { Logger } from "pino";
import { z } from "zod";
import { BackoffTimer } from "../async/backoff.ts";
import { steadyNow } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import type { McpServerConfig } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import { traceparent } from "../telemetry/trace-scope.ts";
import { ToolFailure } from "../tools/tool.ts";
import { type Listing, MOST_LISTED, readListing } from "./listing.ts";
import { capped, framed, RawResult } from "./result.ts";
import { cutWhenOver, openWire, reasonOf, type Wire } from "./wire.ts";

export interface ConnectionParts {
  readonly config: McpServerConfig;
  readonly log: Logger;
  readonly mask: (text: string) => string;
  readonly timing?: Partial<ConnectionTiming>;
}

/** Times in ms. */
export interface ConnectionTiming {
  /** The handshake and the list, each: a first start may have to download the server. */
  readonly startMs: number;
  /** Back-off for a server that does not start, or ends. */
  readonly backoff: { readonly fromMs: number; readonly toMs: number };
  /** Lifetime after which a server's back-off starts from the beginning. */
  readonly stableMs: number;
  /** Longest wait of a call for a server that is starting. */
  readonly waitMs: number;
  /** Longest time from the beginning of a program's line to its end. */
  readonly lineMs: number;
  /** Shortest time between two reads of a list that the server reports as changed. */
  readonly listMs: number;
}

const TIMING: ConnectionTiming = {
  startMs: 60_000,
  backoff: { fromMs: 1000, toMs: 300_000 },
  stableMs: 60_000,
  waitMs: 5000,
  lineMs: 60_000,
  listMs: 1000,
};

/** Turns off the SDK's own limit: the turn's signal ends the call. */
const NO_LIMIT = 2 ** 31 - 1;
const MOST_PAGES = 20;

const ToolsPage = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

export interface ServerCall {
  /** The server's name of the tool. */
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Equal for calls with the same effect. */
  readonly effectKey: string;
  readonly signal: AbortSignal;
}

/**
 * One server of an agent, kept alive: it is started, listed, and started again when it ends.
 *
 *   idle → opening → open → (it ends) waiting → opening …
 *   opening → (it fails) waiting, longer each time
 *   any → closed
 *
 * No error of the server may reach a turn or the daemon as an exception. Its last list is kept while it is away: a
 * channel's tools are frozen anyway, and a call starts it again.
 */
export class McpConnection implements AsyncDisposable {
  readonly config: McpServerConfig;
  readonly #parts: ConnectionParts;
  readonly #timing: ConnectionTiming;
  readonly #retry: BackoffTimer;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  #wire: Wire | null = null;
  #opening: Promise<void> | null = null;
  #openedAt = 0;
  #listing: Listing | null = null;
  #relisting = false;
  #listTimer: NodeJS.Timeout | undefined;
  #problem: string | null = null;
  #lastWords = "";

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.config = parts.config;
    this.#timing = { ...TIMING, ...parts.timing };
    this.#retry = new BackoffTimer(this.#timing.backoff);
  }

  /** The server's last list; null: none yet. */
  get listing(): Listing | null {
    return this.#listing;
  }

  /**
   * @param onListing called for the first list, and for each different one
   * @returns ends the subscription
   */
  subscribe(onListing: () => void): () => void {
    this.#listeners.add(onListing);
    return () => this.#listeners.delete(onListing);
  }

  /** Why it is unreachable, for an operator; null: it is reachable, or was not tried. */
  get problem(): string | null {
    if (this.#problem === null) return null;
    return this.#lastWords === "" ? this.#problem : `${this.#problem}; it last said: ${this.#lastWords}`;
  }

  /** Starts it, without waiting for a back-off. Resolves when it is open, or has failed to open; never throws. */
  async opened(): Promise<void> {
    if (this.#wire !== null || this.#closing.signal.aborted) return;
    this.#retry.cancel();
    this.#opening ??= this.#tryToOpen().finally(() => {
      this.#opening = null;
    });
    await this.#opening;
  }

  /**
   * Makes one call; its signal ends it at the server, too.
   * @throws ToolFailure with a text for the model
   */
  async call(call: ServerCall): Promise<z.output<typeof RawResult>> {
    const wire = await this.#reached(call.signal);
    try {
      return await this.#send(wire, call);
    } catch (error) {
      if (call.signal.aborted || !isSessionLost(error)) throw this.#failure(wire, error);
    }
    // The server has forgotten the session, and so has not run the call: it is repeated after a new handshake.
    await this.#lose(wire, "the session has ended");
    const again = await this.#reached(call.signal);
    try {
      return await this.#send(again, call);
    } catch (error) {
      throw this.#failure(again, error);
    }
  }

  /** @throws ToolFailure if it cannot be opened in time */
  async #reached(signal: AbortSignal): Promise<Wire> {
    if (this.#wire === null) await withDeadline(this.opened(), this.#timing.waitMs, signal);
    if (this.#wire === null)
      throw new ToolFailure(`The server "${this.config.name}" cannot be reached just now.`);
    return this.#wire;
  }

  async #send(
    { client }: Wire,
    { tool, input, effectKey, signal }: ServerCall,
  ): Promise<z.output<typeof RawResult>> {
    const parent = traceparent();
    // The protocol reserves this name for W3C Trace Context.
    const trace = parent === undefined ? {} : { traceparent: parent };
    const params = { name: tool, arguments: input, _meta: { "weir/idempotencyKey": effectKey, ...trace } };
    const options = { signal, timeout: NO_LIMIT };
    const result = await cutWhenOver(async () =>
      client.request({ method: "tools/call", params }, RawResult, options),
    );
    this.#retry.succeeded();
    return result;
  }

  /** The failure for the model. Texts that do not come from the tool itself are only logged. */
  #failure(wire: Wire, error: unknown): ToolFailure {
    const { name } = this.config;
    const cause = new Error(`server ${name}: ${reasonOf(error, this.#parts.mask)}`);
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // A protocol error that the server itself sent instead of a result.
    if (typeof code === "number") {
      const said = capped(this.#parts.mask(errorMessage(error)), LONGEST_REFUSAL);
      return new ToolFailure(framed(`The server "${name}" refuses the call, and says`, said), { cause });
    }
    if (code === "CONNECTION_CLOSED" || isUnreachable(error)) {
      if (this.config.reach.kind === "url") void this.#lose(wire, reasonOf(error, this.#parts.mask));
      const unknown = "Nobody knows whether the call has done anything.";
      return new ToolFailure(`The server "${name}" went away before it answered. ${unknown}`, { cause });
    }
    return new ToolFailure(`The server "${name}" gave no answer that can be used.`, { cause });
  }

  async #tryToOpen(): Promise<void> {
    const { log, mask } = this.#parts;
    const { name } = this.config;
    this.#lastWords = "";
    let wire: Wire | null = null;
    try {
      let isOver = false;
      wire = await openWire(this.config, {
        log,
        mask,
        onClosed: () => {
          isOver = true;
          if (wire !== null) void this.#lose(wire, "the connection was closed");
        },
        onListChanged: () => this.#listSoon(),
        onSaid: (line) => this.#noteWords(line),
        signal: this.#closing.signal,
        timeout: this.#timing.startMs,
        lineMs: this.#timing.lineMs,
      });
      await this.#list(wire);
      if (isOver) throw new Error("the connection was closed");
      this.#wire = wire;
      this.#openedAt = steadyNow();
      this.#problem = null;
      log.info({ server: name, tools: this.#listing?.tools.length ?? 0 }, "mcp_server_open");
    } catch (error) {
      await wire?.close();
      if (this.#closing.signal.aborted) return;
      this.#problem = reasonOf(error, mask);
      log.warn({ server: name, why: this.#problem, retryInMs: this.#retry.waitMs }, "mcp_server_unreachable");
      this.#retry.schedule(() => void this.opened());
    }
  }

  /** Keeps the most telling line: the last line of a program that ends seldom gives the reason. */
  #noteWords(line: string): void {
    if (TELLING.test(line) || !TELLING.test(this.#lastWords)) this.#lastWords = line.slice(0, LONGEST_WORDS);
  }

  /**
   * Ends a connection, and opens another one after a wait, unless that has happened already.
   * @param why without secrets
   */
  async #lose(wire: Wire, why: string): Promise<void> {
    if (this.#wire !== wire) return;
    this.#wire = null;
    this.#problem = why;
    if (steadyNow() - this.#openedAt >= this.#timing.stableMs) this.#retry.succeeded();
    await wire.close();
    if (this.#closing.signal.aborted) return;
    const { name: server } = this.config;
    this.#parts.log.warn({ server, why: this.#problem, retryInMs: this.#retry.waitMs }, "mcp_server_lost");
    this.#retry.schedule(() => void this.opened());
  }

  /** Reads the list again after a pause, since a server may report changes all the time. */
  #listSoon(): void {
    if (this.#closing.signal.aborted) return;
    this.#listTimer ??= setTimeout(() => {
      this.#listTimer = undefined;
      // The list being read may be older than the change.
      if (this.#relisting || this.#opening !== null) return this.#listSoon();
      const wire = this.#wire;
      if (wire === null) return;
      this.#relisting = true;
      this.#list(wire)
        .catch((error: unknown) => {
          const why = reasonOf(error, this.#parts.mask);
          this.#parts.log.warn({ server: this.config.name, why }, "mcp_list_not_read");
        })
        .finally(() => {
          this.#relisting = false;
        });
    }, this.#timing.listMs).unref();
  }

  /** Reads the list page by page, by a schema that accepts anything: the SDK's own refuses the whole list for one invalid tool. */
  async #list({ client }: Wire): Promise<void> {
    const { log, mask } = this.#parts;
    const { name, tools: allowed } = this.config;
    const listed: unknown[] = [];
    let cursor: string | undefined;
    const pages = client.getServerCapabilities()?.tools === undefined ? 0 : MOST_PAGES;
    for (let page = 0; page < pages; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const options = { signal: this.#closing.signal, timeout: this.#timing.startMs };
      const { tools, nextCursor } = await cutWhenOver(async () =>
        client.request({ method: "tools/list", params }, ToolsPage, options),
      );
      for (const tool of tools.slice(0, MOST_LISTED - listed.length)) listed.push(tool);
      cursor = nextCursor;
      if (cursor === undefined || listed.length >= MOST_LISTED) break;
    }
    const listing = readListing({ server: name, allowed, mask }, listed);
    if (JSON.stringify(listing) === JSON.stringify(this.#listing)) return;
    this.#listing = listing;
    if (listing.problems.length > 0)
      log.warn({ server: name, problems: listing.problems }, "mcp_tools_left_out");
    for (const onListing of this.#listeners) onListing();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("Weir ends"));
    this.#retry.cancel();
    clearTimeout(this.#listTimer);
    const wire = this.#wire;
    this.#wire = null;
    await Promise.all([wire?.close(), this.#opening]);
  }
}

const TELLING = /error|cannot|can't|denied|not found|no such|missing|required/i;
const LONGEST_REFUSAL = 2000;
const LONGEST_WORDS = 300;

/** There is no server, or the connection was cut. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError || statusOf(error) >= 500;
}

/** The server has restarted, or has forgotten the session: 404 by the protocol, 400 from some. */
function isSessionLost(error: unknown): boolean {
  return [400, 404].includes(statusOf(error));
}

function statusOf(error: unknown): number {
  return error instanceof Error && "status" in error && typeof error.status === "number" ? error.status : 0;
}
