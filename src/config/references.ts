import type { ProblemAt } from "./check-file.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { DEFAULT_VARIABLE } from "./defaults.ts";
import { variable, type Environment } from "./environment.ts";
import type { FileConfig } from "./schema.ts";
import type { KeyPath } from "./value-tree.ts";

/** The values that may come from the environment. */
export interface References {
  readonly databaseUrl: string | null;
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
}

interface Reference {
  readonly path: KeyPath;
  /** What the file says. */
  readonly written: string | undefined;
  readonly defaultVariable: string;
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
      isUsable: isHttpUrl,
      expected: 'an address such as "http://127.0.0.1:11434/v1"',
    }),
    apiKey: resolve({
      path: ["llm", "api_key"],
      written: file.llm?.api_key,
      defaultVariable: DEFAULT_VARIABLE.apiKey,
      isUsable: (value) => /^[\u0021-\u007e]+$/.test(value),
      expected: "a key without white space and of plain ASCII characters",
    }),
  };
  return { references, problems };
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
  if (value === null && isWritten) {
    const message = `the environment variable ${name} is not set, or empty`;
    return { wrong: { message, expected: `${name} in the environment or in .env` }, isWritten };
  }
  if (value === null || reference.isUsable(value)) return { value };
  // What the variable holds is not shown: an address may carry a password.
  return { wrong: { message: `the environment variable ${name} cannot be used`, expected }, isWritten };
}

function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:");
}
