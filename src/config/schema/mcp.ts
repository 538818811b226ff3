import { z } from "zod";
import { ASK_MODES } from "../../core/ask-mode.ts";
import {
  argument,
  header,
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
      about: "What its tools are named after: the tool search of the server docs is docs__search.",
    }),
  command: option(
    text("the program that is the server, in quotes", 4096),
    "",
    "A program on this machine that is the server and speaks over its standard input and output. Weir starts it, in the folder of this file.",
  ),
  args: option(
    z.array(argument).max(100).describe("a list of arguments, in quotes"),
    [],
    "Its arguments. No secrets: everybody on this machine can see them.",
  ),
  env: option(
    z.array(passedVariable).max(100).describe('a list of names of variables, such as ["GITHUB_TOKEN"]'),
    [],
    "Variables of the environment (or of .env) that it is given: it sees no others but HOME, LOGNAME, PATH, SHELL, TERM and USER.",
  ),
  url: option(mcpUrl, "", "Instead of a command: the address of a server that speaks Streamable HTTP."),
  headers: option(
    z
      .record(
        z
          .string()
          .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/)
          .describe("the name of a header"),
        header,
      )
      .describe('a table of headers, such as { Authorization = "Bearer env:NAME" }'),
    {},
    "Headers of each request to that address.",
  ),
  tools: option(
    z
      .array(z.string().min(1).max(200).describe("the name of a tool as the server calls it, in quotes"))
      .max(1000)
      .describe("a list of names of tools, in quotes"),
    [],
    "The tools that the agent may call, as the server names them. Empty: all.",
  ),
  timeout_ms: option(
    whole(0, HOUR_MS, "milliseconds"),
    0,
    "How long a call of one may take, where that is less than tool_timeout_ms. 0: as long as any.",
  ),
  approve: option(
    oneOf(ASK_MODES),
    "writes",
    'Which calls wait until somebody has approved them: "always" each, "never" none, "writes" those of tools that the server does ' +
      'not call read-only. A server may lie about that: where you do not trust it, "always".',
  ),
});

const MCP_ABOUT =
  "Tools from servers that speak the Model Context Protocol: [[agents.mcp]] behind an [[agents]], for that agent alone. A name and a " +
  "command (or an url) are enough. docs/mcp.md has examples, docs/configuration.md each option.";

export const mcp = z
  .array(mcpSchema)
  .max(50)
  .describe("one or more [[agents.mcp]]")
  .optional()
  .register(optionTexts, { about: MCP_ABOUT });
