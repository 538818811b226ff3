// An MCP server that knows something, made with the SDK, over its standard input and output. Argument: the text that it knows.
import { argv } from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const server = new McpServer({ name: "look-up", version: "1.0.0" });
server.registerTool(
  "look_up",
  { description: "Looks something up.", inputSchema: z.object({ query: z.string() }) },
  async () => ({ content: [{ type: "text", text: argv[2] ?? "" }] }),
);
server.registerTool("fail", { description: "Fails.", inputSchema: z.object({}) }, async () => ({
  content: [{ type: "text", text: "the disk is full" }],
  isError: true,
}));
await server.connect(new StdioServerTransport());
