import type { ProblemAt } from "./check-file.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { type Environment, unsetVariable, unusableVariable, variable } from "./environment.ts";
import { type FileConfig } from "./schema/file.ts";
import { isPlainHttpUrl, MODEL_SERVER_ADDRESS } from "./schema/values.ts";
import { defaultAt } from "./schema-walk.ts";
import { type KeyPath, valueAt } from "./value-tree.ts";

/** The values that may come from the environment. */
export interface References {
  readonly databaseUrl: string | null;
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly embeddingsUrl: string | null;
  readonly embeddingsKey: string | null;
  readonly discordToken: string | null;
  readonly slackBotToken: string | null;
  readonly slackAppToken: string | null;
  readonly slackSigningSecret: string | null;
  readonly httpToken: string | null;
  readonly clusterUrl: string | null;
}

interface Reference {
  readonly path: KeyPath;
  /** If the default variable is not set, what it is for is off, also if the file names it. */
  readonly isSwitch?: boolean;
  readonly isUsable: (value: string) => boolean;
  readonly expected: string;
}

const KEY = {
  isUsable: (value: string): boolean => /^[\u0021-\u007e]+$/.test(value),
  expected: "a key without white space and of plain ASCII characters",
};
const TOKEN = { ...KEY, isSwitch: true };

const REFERENCES: Readonly<Record<keyof References, Reference>> = {
  databaseUrl: {
    path: ["database", "url"],
    isUsable: (value) => /^(postgres(ql)?:\/\/|socket:|\/)/.test(value),
    expected: 'the address of a Postgres, such as "postgres://user@host:5432/name"',
  },
  baseUrl: { path: ["llm", "base_url"], isUsable: isPlainHttpUrl, expected: MODEL_SERVER_ADDRESS },
  apiKey: { path: ["llm", "api_key"], ...KEY },
  embeddingsUrl: {
    path: ["llm", "embeddings", "base_url"],
    isUsable: isPlainHttpUrl,
    expected: MODEL_SERVER_ADDRESS,
  },
  embeddingsKey: { path: ["llm", "embeddings", "api_key"], ...KEY },
  discordToken: { path: ["platforms", "discord", "token"], ...TOKEN },
  slackBotToken: { path: ["platforms", "slack", "bot_token"], ...TOKEN },
  slackAppToken: { path: ["platforms", "slack", "app_token"], ...TOKEN },
  slackSigningSecret: { path: ["platforms", "slack", "signing_secret"], ...TOKEN },
  httpToken: {
    path: ["http", "token"],
    // A shorter one could be guessed.
    isUsable: (value) => /^[\u0021-\u007e]{16,}$/.test(value),
    expected: "a token of at least 16 plain ASCII characters, without white space",
  },
  clusterUrl: {
    path: ["cluster", "url"],
    isUsable: (value) => ["amqp:", "amqps:"].includes(URL.parse(value)?.protocol ?? ""),
    expected: 'the address of a RabbitMQ, such as "amqp://user:password@host:5672/vhost"',
  },
};

/** The environment variable that is read even if the file says nothing of it. */
export function defaultVariable(name: keyof References): string {
  return String(defaultAt(REFERENCES[name].path)).slice("env:".length);
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
  const resolve = (name: keyof References): string | null => {
    const outcome = resolveReference(name, file, environment);
    if (!("wrong" in outcome)) return outcome.value;
    const { wrong, isWritten } = outcome;
    const isInFile = isWritten && problemAt !== null;
    problems.push(isInFile ? problemAt(REFERENCES[name].path, wrong) : configProblem(wrong));
    return null;
  };
  const references = {
    databaseUrl: resolve("databaseUrl"),
    baseUrl: resolve("baseUrl"),
    apiKey: resolve("apiKey"),
    embeddingsUrl: resolve("embeddingsUrl"),
    embeddingsKey: resolve("embeddingsKey"),
    discordToken: resolve("discordToken"),
    slackBotToken: resolve("slackBotToken"),
    slackAppToken: resolve("slackAppToken"),
    slackSigningSecret: resolve("slackSigningSecret"),
    httpToken: resolve("httpToken"),
    clusterUrl: resolve("clusterUrl"),
  };
  return { references, problems };
}

type Resolved =
  | { readonly value: string | null }
  | { readonly wrong: Pick<ConfigProblem, "message" | "expected">; readonly isWritten: boolean };

function resolveReference(of: keyof References, file: FileConfig, environment: Environment): Resolved {
  const reference = REFERENCES[of];
  const value = valueAt(file, reference.path);
  const written = typeof value === "string" ? value : undefined;
  if (written !== undefined && !written.startsWith("env:")) return { value: written === "" ? null : written };
  const name = written?.slice("env:".length) ?? defaultVariable(of);
  const isWritten = written !== undefined;
  const found = variable(environment, name);
  const isOff = reference.isSwitch === true && name === defaultVariable(of);
  if (found === null && isWritten && !isOff) {
    return { wrong: unsetVariable(name), isWritten };
  }
  if (found === null || reference.isUsable(found)) return { value: found };
  return { wrong: { message: unusableVariable(name), expected: reference.expected }, isWritten };
}
