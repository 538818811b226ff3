import type { ProblemAt } from "./checks/check-file.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { type Environment, unsetVariable, unusableVariable, variable } from "./environment.ts";
import { type FileConfig } from "./schema/file.ts";
import { COLLECTOR_ADDRESS, isPlainHttpUrl, MODEL_SERVER_ADDRESS } from "./schema/values.ts";
import { type ChatPlatform, CHAT_PLATFORMS } from "../platforms/platforms.ts";
import { defaultAt, secretOptions } from "./schema-walk.ts";
import { type KeyPath, valueAt } from "./value-tree.ts";

export type References = Readonly<Record<keyof typeof REFERENCES, string | null>> & {
  /** Secrets of the chat platforms, by the platform's key and the option's name in the file. */
  readonly platforms: Readonly<Record<string, PlatformSecrets>>;
};

type PlatformSecrets = Readonly<Record<string, string | null>>;

interface Reference {
  readonly path: KeyPath;
  /** If the default variable is not set, the option is off, even if the file names the variable. */
  readonly isSwitch?: boolean;
  readonly isUsable: (value: string) => boolean;
  readonly expected: string;
}

export const API_KEY = {
  isUsable: (value: string): boolean => /^[\u0021-\u007e]+$/.test(value),
  expected: "a key without white space and of plain ASCII characters",
};
const TOKEN = { ...API_KEY, isSwitch: true };

const REFERENCES = {
  databaseUrl: {
    path: ["database", "url"],
    isUsable: (value) => /^(postgres(ql)?:\/\/|socket:|\/)/.test(value),
    expected: 'the address of a Postgres, such as "postgres://user@host:5432/name"',
  },
  baseUrl: { path: ["llm", "base_url"], isUsable: isPlainHttpUrl, expected: MODEL_SERVER_ADDRESS },
  apiKey: { path: ["llm", "api_key"], ...API_KEY },
  embeddingsUrl: {
    path: ["llm", "embeddings", "base_url"],
    isUsable: isPlainHttpUrl,
    expected: MODEL_SERVER_ADDRESS,
  },
  embeddingsKey: { path: ["llm", "embeddings", "api_key"], ...API_KEY },
  transcriptionUrl: {
    path: ["llm", "transcription", "base_url"],
    isUsable: isPlainHttpUrl,
    expected: MODEL_SERVER_ADDRESS,
  },
  transcriptionKey: { path: ["llm", "transcription", "api_key"], ...API_KEY },
  httpToken: {
    path: ["http", "token"],
    // A shorter one could be guessed.
    isUsable: (value) => /^[\u0021-\u007e]{16,}$/.test(value),
    expected: "a token of at least 16 plain ASCII characters, without white space",
  },
  collectorUrl: {
    path: ["telemetry", "endpoint"],
    isSwitch: true,
    isUsable: isPlainHttpUrl,
    expected: COLLECTOR_ADDRESS,
  },
  collectorHeaders: {
    path: ["telemetry", "headers"],
    isSwitch: true,
    isUsable: (value) => headersFrom(value) !== null,
    expected: "NAME=VALUE, with a comma before the next one",
  },
  clusterUrl: {
    path: ["cluster", "url"],
    isUsable: (value) => ["amqp:", "amqps:"].includes(URL.parse(value)?.protocol ?? ""),
    expected: 'the address of a RabbitMQ, such as "amqp://user:password@host:5672/vhost"',
  },
} as const satisfies Readonly<Record<string, Reference>>;

/**
 * Parses headers in the format of OpenTelemetry's variables, with percent encoding; null: the text does not have it.
 * Pure.
 */
export function headersFrom(text: string): Readonly<Record<string, string>> | null {
  try {
    const read = text.split(",").map((pair) => {
      const [, name, value = ""] = /^([\w!#$%&'*+.^`|~-]+)\s*=([^]*)/.exec(pair.trim()) ?? [];
      return name === undefined || !/^[\t -~]*$/.test(value.trim())
        ? null
        : [name, decodeURIComponent(value.trim())];
    });
    return read.some((pair) => pair === null)
      ? null
      : Object.fromEntries(read.filter((pair) => pair !== null));
  } catch {
    return null;
  }
}

/** The environment variable of an option that the file leaves out. */
function defaultVariable(path: KeyPath): string {
  return String(defaultAt(path)).slice("env:".length);
}

/** The variable of a chat platform's secret, unless the file names another: `SLACK_APP_TOKEN`. */
export function secretVariable(platform: ChatPlatform, option: string): string {
  return defaultVariable(["platforms", platform, option]);
}

/** The variable with the database's address; null: the address is in the file. */
export function databaseVariable(file: FileConfig): string | null {
  return variableIn(REFERENCES.databaseUrl, file);
}

/** The variable with a value; null: the value is in the file. */
function variableIn({ path }: Reference, file: FileConfig): string | null {
  const written = valueAt(file, path);
  if (typeof written !== "string") return defaultVariable(path);
  return written.startsWith("env:") ? written.slice("env:".length) : null;
}

/** Resolves `env:NAME`. A variable that the file names must be set; a default variable need not be. */
export function resolveReferences(
  file: FileConfig,
  environment: Environment,
  problemAt: ProblemAt,
): {
  readonly references: References;
  readonly problems: readonly ConfigProblem[];
  /** The database's setting is known. */
  readonly isDatabaseKnown: boolean;
} {
  const problems: ConfigProblem[] = [];
  const follow = (reference: Reference): string | null => {
    const outcome = resolveReference(reference, file, environment);
    if (!("wrong" in outcome)) return outcome.value;
    const { wrong, isWritten } = outcome;
    problems.push(isWritten ? problemAt(reference.path, wrong) : configProblem(wrong));
    return null;
  };
  const resolve = (name: keyof typeof REFERENCES): string | null => follow(REFERENCES[name]);
  const secretsOf = (key: ChatPlatform): PlatformSecrets =>
    Object.fromEntries(
      secretOptions(["platforms", key]).map((option) => [
        option,
        follow({ path: ["platforms", key, option], ...TOKEN }),
      ]),
    );
  const databaseUrl = resolve("databaseUrl");
  const isDatabaseKnown = problems.length === 0;
  const references = {
    databaseUrl,
    baseUrl: resolve("baseUrl"),
    apiKey: resolve("apiKey"),
    embeddingsUrl: resolve("embeddingsUrl"),
    embeddingsKey: resolve("embeddingsKey"),
    transcriptionUrl: resolve("transcriptionUrl"),
    transcriptionKey: resolve("transcriptionKey"),
    platforms: Object.fromEntries(CHAT_PLATFORMS.map((key) => [key, secretsOf(key)])),
    httpToken: resolve("httpToken"),
    collectorUrl: resolve("collectorUrl"),
    collectorHeaders: resolve("collectorHeaders"),
    clusterUrl: resolve("clusterUrl"),
  };
  return { references, problems, isDatabaseKnown };
}

type Resolved =
  | { readonly value: string | null }
  | {
      readonly wrong: Pick<ConfigProblem, "message" | "expected"> & Partial<ConfigProblem>;
      readonly isWritten: boolean;
    };

function resolveReference(reference: Reference, file: FileConfig, environment: Environment): Resolved {
  const value = valueAt(file, reference.path);
  const name = variableIn(reference, file);
  if (name === null) return { value: value === "" ? null : String(value) };
  const isWritten = typeof value === "string";
  const found = variable(environment, name);
  const isOff = reference.isSwitch === true && name === defaultVariable(reference.path);
  if (found === null && isWritten && !isOff) {
    return { wrong: unsetVariable(name, environment), isWritten };
  }
  if (found === null || reference.isUsable(found)) return { value: found };
  return { wrong: { message: unusableVariable(name), expected: reference.expected }, isWritten };
}
