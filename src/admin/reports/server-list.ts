import type { McpConnection } from "../../mcp/connection.ts";
import type { ServerTools } from "../../mcp/server-tools.ts";
import { counted } from "../../text/text.ts";

type Connection = Pick<McpConnection, "config" | "listing" | "problem">;

/** What is wrong with a server of an agent, a line each; empty: nothing. Pure. */
export function serverTroubles({ config, listing, problem }: Connection): string[] {
  return [
    ...(problem === null && listing !== null
      ? []
      : [`✗ server ${config.name} cannot be reached: ${problem ?? "it does not answer"}`]),
    ...(listing?.problems ?? []).map((why) => `? server ${config.name}: left out: ${why}`),
  ];
}

/** Tools of an agent's servers that its requests have no room for, a line each. Pure. */
export function toolsWithoutRoom(leftOut: readonly string[]): string[] {
  return leftOut.map((name) => `? no room in a request for ${name}`);
}

/** An agent's servers as they are now, a line each, and what is wrong with them. Pure. */
export function describeServers(
  agent: string,
  { connections, leftOut }: Pick<ServerTools, "leftOut"> & { readonly connections: readonly Connection[] },
): string[] {
  return [
    ...connections.flatMap((connection) => {
      const { config, listing } = connection;
      const tools =
        listing === null ? [] : [`server ${config.name}: ${counted(listing.tools.length, "tool")}`];
      return [...tools, ...serverTroubles(connection)];
    }),
    ...toolsWithoutRoom(leftOut),
  ].map((line) => `${agent}: ${line}`);
}
