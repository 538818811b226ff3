import type { z } from "zod";
import type { ProblemAt } from "./checks/check-file.ts";
import type { McpServerConfig } from "./config.ts";
import type { ConfigProblem } from "./config-error.ts";
import { type Environment, filledHeader, unsetVariable, unusableVariable, variable } from "./environment.ts";
import type { FileConfig } from "./schema/file.ts";
import { mcpSchema } from "./schema/mcp.ts";

/** The servers of each agent, by its place in the file. */
export type McpServers = ReadonlyMap<number, readonly McpServerConfig[]>;

type FileServer = z.output<typeof mcpSchema>;

interface Surroundings {
  readonly environment: Environment;
  readonly folder: string;
  readonly problemAt: ProblemAt;
}

/** Variables whose values are public and occur in many texts: paths, names, languages. */
const NO_SECRET =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP|PWD|NODE_ENV|(?:LC|XDG)_\w+|\w+_(?:PATH|DIR|HOME|ROOT|FILE))$/i;

/**
 * Fills `[[agents.mcp]]` from the environment, and finds problems between its keys.
 * @returns `unset`: the problems of variables that are named but not set
 */
export function resolveMcpServers(
  file: FileConfig,
  surroundings: Surroundings,
): {
  readonly servers: McpServers;
  readonly problems: readonly ConfigProblem[];
  readonly unset: readonly ConfigProblem[];
} {
  const problems: ConfigProblem[] = [];
  const unset: ConfigProblem[] = [];
  const servers = new Map<number, readonly McpServerConfig[]>();
  for (const [index, { mcp = [] }] of (file.agents ?? []).entries()) {
    const seen = new Map<string, number>();
    const own = mcp.flatMap((inFile, place) => {
      // It has passed the schema, whose parser adds the defaults.
      const written = mcpSchema.parse(inFile);
      const path = ["agents", index, "mcp", place];
      const problem = (key: string, fields: Parameters<ProblemAt>[1]): ConfigProblem =>
        surroundings.problemAt([...path, key], fields);
      const first = seen.get(written.name);
      seen.set(written.name, first ?? place);
      const wrong = wrongKeys(written, first).map(({ key, ...fields }) => problem(key, fields));
      problems.push(...wrong);
      const resolved = resolveServer(written, surroundings);
      unset.push(...resolved.unset.map(({ key, ...fields }) => problem(key, fields)));
      return wrong.length > 0 || resolved.unset.length > 0 ? [] : [resolved.server];
    });
    servers.set(index, own);
  }
  return { servers, problems, unset };
}

type Wrong = Omit<Parameters<ProblemAt>[1], "key"> & { readonly key: string };

function wrongKeys(
  { name, command, url, args, env, headers, tools }: FileServer,
  first: number | undefined,
): Wrong[] {
  const wrong: Wrong[] = [];
  if (first !== undefined)
    wrong.push({
      key: "name",
      message: `the name "${name}" is taken: mcp[${first}] of this agent has it too`,
      expected: "a name that no other server of this agent has",
    });
  if ((command === "") === (url === ""))
    wrong.push({
      key: url === "" ? "name" : "url",
      message: url === "" ? "this server has neither a command nor an url" : "this server has a command, too",
      expected: "either command (with args and env) or url (with headers)",
    });
  const misplaced =
    command === "" ? { args: args.length, env: env.length } : { headers: Object.keys(headers).length };
  for (const [key, count] of Object.entries(misplaced))
    if (count > 0 && url !== command)
      wrong.push({
        key: key,
        message: `${key} has no effect here`,
        expected: key === "headers" ? "headers beside url alone" : `${key} beside command alone`,
        suggestion: null,
      });
  const twice = tools.find((tool, index) => tools.indexOf(tool) < index);
  if (twice !== undefined)
    wrong.push({ key: "tools", message: "a tool stands here twice", found: JSON.stringify(twice) });
  return wrong;
}

function resolveServer(
  { name, command, args, env, url, headers, tools, timeout_ms: timeoutMs, approve }: FileServer,
  { environment, folder }: Surroundings,
): { readonly server: McpServerConfig; readonly unset: readonly Wrong[] } {
  const unset: Wrong[] = [];
  const secrets: string[] = [];
  const take = (key: string, variableName: string): string => {
    const found = variable(environment, variableName);
    if (found !== null) return found;
    unset.push({ key, ...unsetVariable(variableName, environment) });
    return "";
  };
  const pass = (entry: string): [string, string] => {
    const [own = "", other = own] = entry.split("=env:");
    const value = take("env", other);
    if (!NO_SECRET.test(own)) secrets.push(value);
    return [own, value];
  };
  const headerValue = (value: string): string => {
    // A value in the file may be a secret, against all advice.
    secrets.push(value);
    return filledHeader(value, (of) => {
      const filled = take("headers", of);
      secrets.push(filled);
      return filled;
    });
  };
  const address = url.startsWith("env:") ? take("url", url.slice("env:".length)) : url;
  if (address !== "" && URL.parse(address)?.protocol.startsWith("http") !== true)
    unset.push({
      key: "url",
      message: unusableVariable(url.slice("env:".length)),
      expected: "the address of an MCP server, such as https://mcp.example/mcp",
    });
  if (address !== url) secrets.push(address);
  const reach: McpServerConfig["reach"] =
    command === ""
      ? {
          kind: "url",
          url: address,
          headers: Object.fromEntries(
            Object.entries(headers).map(([key, value]) => [key, headerValue(value)]),
          ),
        }
      : { kind: "command", command, args, env: Object.fromEntries(env.map(pass)), folder };
  const server = {
    name,
    reach,
    tools,
    timeoutMs: timeoutMs === 0 ? null : timeoutMs,
    approve,
    secrets: secrets.filter((value) => value !== ""),
  };
  return { server, unset };
}
