import { maskOf, secretsOf } from "../../admin/secrets.ts";
import { withDeadline } from "../../async/deadline.ts";
import type { Config, McpServerConfig } from "../../config/config.ts";
import type { Finding } from "../../core/errors.ts";
import { McpConnection } from "../../mcp/connection.ts";
import type { ServerToolsParts } from "../../mcp/server-tools.ts";
import { steadyNow } from "../../async/clock.ts";
import { counted } from "../../text/text.ts";
import type { Io } from "./io.ts";
import { openLog } from "./open.ts";

/** Longest check of one server, ms. */
const PATIENCE_MS = 20_000;

/** The parts with which a read-only program starts servers: the program reports errors itself, without a log. */
export function lookingParts(
  io: Io,
  config: Config,
): Required<Pick<ServerToolsParts, "log" | "mask" | "timing">> {
  return {
    log: openLog(io, config, "silent"),
    mask: maskOf(secretsOf(config)),
    timing: { startMs: PATIENCE_MS },
  };
}

/** Waits for a server, but no longer than a look may take. */
export async function lookAtServer(connection: McpConnection): Promise<void> {
  await withDeadline(connection.opened(), PATIENCE_MS + 1000);
}

/** Tries each server of each agent. Does not throw. */
export async function lookAtServers(io: Io, config: Config): Promise<readonly Finding[]> {
  const parts = lookingParts(io, config);
  const servers = config.agents.flatMap(({ id, mcp }) => mcp.map((server) => ({ id, server })));
  return Promise.all(
    servers.map(async ({ id, server }): Promise<Finding> => {
      const what = `MCP server ${server.name} of ${id}`;
      await using connection = new McpConnection({ ...parts, config: server });
      const startedAt = steadyNow();
      await lookAtServer(connection);
      const ms = Math.round(steadyNow() - startedAt);
      const { listing, problem } = connection;
      if (problem !== null || listing === null)
        return { what, state: "wrong", detail: problem ?? "it does not answer", todo: whatToDo(server) };
      const detail = `${counted(listing.tools.length, "tool")} (${ms} ms)`;
      if (listing.problems.length === 0) return { what, state: "ok", detail };
      const left = listing.problems.join("; ");
      const todo =
        "the others work; name the tools that you want in `tools`, or tell whoever makes the server";
      return { what, state: "unsure", detail: `${detail}; left out: ${left}`, todo };
    }),
  );
}

function whatToDo({ reach }: McpServerConfig): string {
  return reach.kind === "command"
    ? `run ${reach.command} by hand with its args in ${reach.folder}; and see env, for it is given no other variables`
    : "see url and headers, and whether the server is up";
}
