// A well-behaved MCP server, made with the SDK, over its standard input and output. Arguments: FILE, to which each call
// adds a line of JSON; FILE.pid has the id of each process.
import { appendFileSync } from "node:fs";
import { argv, env, pid, stderr } from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { addTools } from "./good-tools.ts";

const journal = argv[2];
if (journal !== undefined) appendFileSync(`${journal}.pid`, `pid ${pid}\n`);
const server = new McpServer({ name: "good", version: "1.0.0" });
addTools(server, {
  note: (line) => journal !== undefined && appendFileSync(journal, `${JSON.stringify(line)}\n`),
  env,
});
stderr.write(`ready, with the key ${env["GOOD_KEY"] ?? "none"}\n`);
await server.connect(new StdioServerTransport());
