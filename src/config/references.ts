import type { ProblemAt } from "./check-file.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { DEFAULT_VARIABLE } from "./defaults.ts";
import { variable, type Environment } from "./environment.ts";
import { type FileConfig, isPlainHttpUrl, MODEL_SERVER_ADDRESS } from "./schema.ts";
import type { KeyPath } from "./value-tree.ts";

/** The values that may come from the environment. */
export interface References {
  readonly databaseUrl: string | null;
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly discordToken: string | null;
  readonly slackBotToken: string | null;
  readonly slackAppToken: string | null;
  readonly slackSigningSecret: string | null;
}

interface Reference {
  readonly path: KeyPath;
  /** What the file says. */
  readonly written: string | undefined;
  readonly defaultVariable: string;
  /** Where the default variable is not set, what it is for is off, also where the file names it. */
  readonly isSwitch?: boolean;
  readonly isUsable: (value: string) => boolean;
  readonly expected: string;
}

/**
 * Follows `env:NAME`. A variable that the file names must be set; one that is only a default need not be.
 * @param problemAt null: there is no file
 */
export function resolveReferences(
  file: FileConfig,
  environment: Environment,
  problemAt: ProblemAt | null,
): { readonly references: References; readonly problems: readonly ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const resolve = (reference: Reference): string | null => {
    const outcome = resolveReference(reference, environment);
    if (!("wrong" in outcome)) return outcome.value;
    const { wrong, isWritten } = outcome;
    problems.push(isWritten && problemAt !== null ? problemAt(reference.path, wrong) : configProblem(wrong));
    return null;
  };
  const references = {
    databaseUrl: resolve({
      path: ["database", "url"],
      written: file.database?.url,
      defaultVariable: DEFAULT_VARIABLE.databaseUrl,
      isUsable: (value) => /^(postgres(ql)?:\/\/|socket:|\/)/.test(value),
      expected: 'the address of a Postgres, such as "postgres://user@host:5432/name"',
    }),
    baseUrl: resolve({
      path: ["llm", "base_url"],
      written: file.llm?.base_url,
      defaultVariable: DEFAULT_VARIABLE.baseUrl,
      isUsable: isPlainHttpUrl,
      expected: MODEL_SERVER_ADDRESS,
    }),
    apiKey: resolve({
      path: ["llm", "api_key"],
      written: file.llm?.api_key,
      defaultVariable: DEFAULT_VARIABLE.apiKey,
      ...KEY,
    }),
    discordToken: resolve(token(["discord", "token"], file.platforms?.discord?.token, "discordToken")),
    slackBotToken: resolve(token(["slack", "bot_token"], file.platforms?.slack?.bot_token, "slackBotToken")),
    slackAppToken: resolve(token(["slack", "app_token"], file.platforms?.slack?.app_token, "slackAppToken")),
    slackSigningSecret: resolve(
      token(["slack", "signing_secret"], file.platforms?.slack?.signing_secret, "slackSigningSecret"),
    ),
  };
  return { references, problems };
}

const KEY = {
  isUsable: (value: string): boolean => /^[\u0021-\u007e]+$/.test(value),
  expected: "a key without white space and of plain ASCII characters",
};

function token(
  path: readonly [string, string],
  written: string | undefined,
  variableOf: keyof typeof DEFAULT_VARIABLE,
): Reference {
  const defaultVariable = DEFAULT_VARIABLE[variableOf];
  return { path: ["platforms", ...path], written, defaultVariable, isSwitch: true, ...KEY };
}

type Resolved =
  | { readonly value: string | null }
  | { readonly wrong: Pick<ConfigProblem, "message" | "expected">; readonly isWritten: boolean };

function resolveReference(reference: Reference, environment: Environment): Resolved {
  const { written, expected } = reference;
  if (written !== undefined && !written.startsWith("env:")) return { value: written };
  const name = written?.slice("env:".length) ?? reference.defaultVariable;
  const isWritten = written !== undefined;
  const value = variable(environment, name);
  const isOff = reference.isSwitch === true && name === reference.defaultVariable;
  if (value === null && isWritten && !isOff) {
    const message = `the environment variable ${name} is not set, or empty`;
    return { wrong: { message, expected: `${name} in the environment or in .env` }, isWritten };
  }
  if (value === null || reference.isUsable(value)) return { value };
  // What the variable holds is not shown: an address may carry a password.
  return { wrong: { message: `the environment variable ${name} cannot be used`, expected }, isWritten };
}
