/**
 * Tools of MCP servers: starts the servers of an agent, lists their tools for models, and makes the calls. The room
 * speaks only MCP; a tool's texts are cleaned and bounded before a model reads them.
 */

import { createHash } from "node:crypto";
import type { McpServerConfig } from "../config/config.ts";
import type { ToolSpec } from "../core/context.ts";
import { withDeadline } from "../async/deadline.ts";
import { estimateTokens } from "../text/tokens.ts";
import { type Tool, ToolFailure, ToolInputError } from "../tools/tool.ts";
import { McpConnection, type ConnectionParts } from "./connection.ts";
import { byText, type ListedTool } from "./listing.ts";
import { framed, readResult } from "./result.ts";
import { isTable } from "./schema.ts";

export interface ServerToolsParts extends Omit<ConnectionParts, "config"> {
  readonly servers: readonly McpServerConfig[];
  /** Weir's own tools, added to the servers'. */
  readonly own: (served: readonly Tool[]) => readonly Tool[];
  readonly configured: (tool: Tool) => Tool;
  /** Limit for the tools of all servers in each request, estimated tokens. */
  readonly room: () => number;
  /** The tools of the configuration before, whose unchanged servers stay connected. Default: none. */
  readonly before?: ServerTools | null;
}

/** Providers take 128 tools in one request; a channel of several agents adds one. */
const MOST_TOOLS = 127;
/** Longest wait of a turn after a restart for servers whose tools it was using, ms. */
const BEGIN_MS = 5000;
/** Tokens that a provider adds to each tool. */
const FRAME_TOKENS = 8;

/** The tools of one agent: Weir's own, and its servers' by their last lists. */
export class ServerTools implements AsyncDisposable {
  readonly connections: readonly McpConnection[];
  readonly #parts: Omit<ServerToolsParts, "before">;
  #current: readonly Tool[];
  #leftOut: readonly string[] = [];
  /** Null: not started, or done. */
  #beginning: Promise<void> | null = null;
  #isStarted = false;
  /** Ends the subscriptions to the servers. */
  readonly #listening: (() => void)[] = [];

  constructor({ before, ...parts }: ServerToolsParts) {
    this.#parts = parts;
    this.#current = parts.own([]);
    const { log, mask, timing = {} } = parts;
    this.connections = parts.servers.map(
      (config) => before?.connectionOf(config) ?? new McpConnection({ config, log, mask, timing }),
    );
  }

  connectionOf(config: McpServerConfig): McpConnection | undefined {
    const wanted = JSON.stringify(config);
    return this.connections.find((one) => JSON.stringify(one.config) === wanted);
  }

  /** Sorted by name, so that the beginning of every request stays the same; the identical list while nothing changes. */
  get current(): readonly Tool[] {
    return this.#current;
  }

  /** Names of tools without room in a request. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  /** Starts the servers. Must not throw or wait: the agent answers without their tools until they are ready. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    for (const connection of this.connections)
      this.#listening.push(connection.subscribe(() => this.#merge()));
    if (this.connections.some(({ listing }) => listing !== null)) this.#merge();
    const opened = Promise.all(this.connections.map(async (connection) => connection.opened()));
    this.#beginning = withDeadline(opened, BEGIN_MS).then(() => undefined);
    void this.#beginning.finally(() => {
      this.#beginning = null;
    });
  }

  whenBegun(): Promise<void> | null {
    return this.#beginning;
  }

  #merge(): void {
    const { own, room, log } = this.#parts;
    const served = this.connections
      .flatMap((connection) =>
        (connection.listing?.tools ?? []).map((listed) => this.#toolOf(connection, listed)),
      )
      .toSorted((a, b) => byText(a.spec.name, b.spec.name));
    let left = room();
    const most = MOST_TOOLS - own([]).length;
    const fitting: Tool[] = [];
    const leftOut: string[] = [];
    for (const tool of served) {
      // Descriptions of other tools may name it, too.
      const tokens = tokensOf(tool.spec) + estimateTokens(tool.spec.name);
      if (tokens > left || fitting.length >= most) leftOut.push(tool.spec.name);
      else {
        left -= tokens;
        fitting.push(tool);
      }
    }
    this.#leftOut = leftOut;
    if (leftOut.length > 0) log.warn({ tools: leftOut }, "mcp_tools_without_room");
    const merged = [...own(fitting), ...fitting].toSorted((a, b) => byText(a.spec.name, b.spec.name));
    // An equal list stays the identical object, which keeps caches valid.
    if (JSON.stringify(merged) !== JSON.stringify(this.#current)) this.#current = merged;
  }

  #toolOf(connection: McpConnection, { name, spec, isReadOnly }: ListedTool): Tool {
    const { config } = connection;
    const { mask } = this.#parts;
    return this.#parts.configured({
      spec,
      server: config.name,
      identity: identityOf(config, name, spec),
      // Except calls that a person must allow.
      isStandalone: true,
      asks: config.approve,
      isReadOnly,
      findsOut: true,
      ...(config.timeoutMs !== null && { timeoutMs: config.timeoutMs }),
      async run(input, { signal, effectKey, seesImages }) {
        if (!isTable(input)) throw new ToolInputError("They are no JSON object.");
        // The channel's list is frozen, but the server's may have changed.
        if (connection.listing?.tools.some((one) => one.name === name) !== true)
          throw new ToolFailure(`The server "${config.name}" no longer has this tool.`);
        const raw = await connection.call({ tool: name, input, effectKey, signal });
        const { text, isError, images } = readResult(raw, mask, seesImages);
        // The tool's own words are for the model; the log only notes that there were some.
        if (isError) {
          const failed = framed(`the tool of the server "${config.name}" has failed, and says`, text);
          throw new ToolFailure(failed, { cause: new Error(`server ${config.name}: the tool has failed`) });
        }
        return {
          kind: "result",
          text: framed(`From the server "${config.name}"`, text),
          references: [],
          images,
        };
      },
    });
  }

  /** Closes the servers that the next configuration does not use. */
  async makeWay(next: ServerTools | null): Promise<void> {
    for (const end of this.#listening) end();
    const over = this.connections.filter((one) => next?.connections.includes(one) !== true);
    await Promise.all(over.map(async (connection) => connection[Symbol.asyncDispose]()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.connections.map(async (connection) => connection[Symbol.asyncDispose]()));
  }
}

/** A person allows calls at this server, of a tool with this name and description. */
function identityOf({ reach }: McpServerConfig, name: string, spec: ToolSpec): string {
  const where = reach.kind === "url" ? [reach.url] : [reach.command, reach.args, reach.folder];
  return createHash("sha256")
    .update(JSON.stringify([where, name, spec]))
    .digest("hex");
}

export function tokensOf(spec: ToolSpec): number {
  return estimateTokens(JSON.stringify(spec)) + FRAME_TOKENS;
}
