import type { z } from "zod";
import type { ProblemAt } from "./checks/check-file.ts";
import type { ServerConfig } from "./config.ts";
import type { ConfigProblem } from "./config-error.ts";
import { type Environment, filledHeader, unsetVariable, unusableVariable, variable } from "./environment.ts";
import { API_KEY } from "./references.ts";
import type { FileConfig } from "./schema/file.ts";
import { serversSchema } from "./schema/models.ts";
import { isPlainHttpUrl, NAMED_SERVER_ADDRESS } from "./schema/values.ts";

type FileServer = NonNullable<z.output<typeof serversSchema>>[string];

/**
 * Fills `[llm.servers]` from the environment.
 * @returns the complete servers, and the problems of the others' variables
 */
export function resolveModelServers(
  file: FileConfig,
  environment: Environment,
  problemAt: ProblemAt,
): { readonly servers: readonly ServerConfig[]; readonly problems: readonly ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const written = Object.entries(serversSchema.parse(file.llm?.servers) ?? {});
  const servers = written.flatMap(([name, server]) => {
    const wrong: ConfigProblem[] = [];
    const take: Take = (key, variableName, usable) => {
      const found = variable(environment, variableName);
      if (found !== null && (usable === undefined || usable.isUsable(found))) return found;
      const fields =
        found === null
          ? unsetVariable(variableName, environment)
          : { message: unusableVariable(variableName), expected: usable?.expected ?? null };
      wrong.push(problemAt(["llm", "servers", name, key], fields));
      return "";
    };
    const resolved = { name, ...resolveServer(server, take) };
    problems.push(...wrong);
    return wrong.length > 0 ? [] : [resolved];
  });
  return { servers, problems };
}

/** The value of a variable that an option names; "": no usable one. */
type Take = (
  key: string,
  variableName: string,
  usable?: { readonly isUsable: (value: string) => boolean; readonly expected: string },
) => string;

function resolveServer(
  { base_url: baseUrl, api_key: apiKey, api, headers }: FileServer,
  take: Take,
): Omit<ServerConfig, "name"> {
  const address = { isUsable: isPlainHttpUrl, expected: NAMED_SERVER_ADDRESS };
  return {
    baseUrl: baseUrl.startsWith("env:") ? take("base_url", baseUrl.slice("env:".length), address) : baseUrl,
    apiKey: apiKey === "" ? null : take("api_key", apiKey.slice("env:".length), API_KEY),
    api,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        filledHeader(value, (of) => take("headers", of)),
      ]),
    ),
  };
}
