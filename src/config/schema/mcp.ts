import { z } from "zod";
import { ASK_MODES } from "../../core/ask-mode.ts";
import {
  argument,
  headers,
  HOUR_MS,
  mcpUrl,
  oneOf,
  option,
  optionTexts,
  passedVariable,
  text,
  whole,
} from "./values.ts";

/** One of `[[agents.mcp]]`. */
export const mcpSchema = z.strictObject({
  name: z
    .string()
    .regex(/^(?!.*__)(?!.*_$)[a-z0-9][a-z0-9_-]{0,23}$/)
    .describe("a name of 1 to 24 small letters, digits, `-` and single `_` between them, in quotes")
    .register(optionTexts, {
      about: "The first part of its tools' names: the tool search of the server docs is docs__search.",
    }),
  command: option(
    text("the program that is the server, in quotes", 4096),
    "",
    "The program that is the server, over standard input and output. Weir starts it in the folder of this " +
      "file.",
  ),
  args: option(
    z.array(argument).max(100).describe("a list of arguments, in quotes"),
    [],
    "Its arguments. No secrets: everybody on this machine can see them.",
  ),
  env: option(
    z.array(passedVariable).max(100).describe('a list of names of variables, such as ["GITHUB_TOKEN"]'),
    [],
    "Variables of the environment or .env that it gets, beside HOME, LOGNAME, PATH, SHELL, TERM and USER.",
  ),
  url: option(mcpUrl, "", "Instead of a command: the address of a server with Streamable HTTP."),
  headers: option(headers, {}, "Headers of each request to that address."),
  tools: option(
    z
      .array(z.string().min(1).max(200).describe("the name of a tool as the server calls it, in quotes"))
      .max(1000)
      .describe("a list of names of tools, in quotes"),
    [],
    "The tools that the agent may call, by the server's names. Empty: all.",
  ),
  timeout_ms: option(
    whole(0, HOUR_MS, "milliseconds"),
    0,
    "How long a call may take, if less than tool_timeout_ms. 0: as that.",
  ),
  approve: option(
    oneOf(ASK_MODES),
    "writes",
    'Which calls wait until somebody approves them: "always" each, "never" none, "writes" those of tools ' +
      "that the server does not call read-only.",
  ),
});

const MCP_ABOUT =
  "Tools of servers that speak the Model Context Protocol: [[agents.mcp]] after an [[agents]], for that " +
  "agent alone. A name and a command (or an url) are enough. Examples: docs/mcp.md. Each option: " +
  "docs/configuration.md.";

export const mcp = z
  .array(mcpSchema)
  .max(50)
  .describe("one or more [[agents.mcp]]")
  .optional()
  .register(optionTexts, { about: MCP_ABOUT });
