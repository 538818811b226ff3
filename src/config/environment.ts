import { join } from "node:path";
import { parseEnv } from "node:util";
import { EXCEPT_VARIABLES, type Proxies, PROXY_VARIABLES, proxyAddress } from "../network/proxies.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { nearestName } from "./nearest-name.ts";
import { readTextFile } from "./text-file.ts";

/** Variables by name, from the process or from `.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The process' variables over those of the folder's `.env` file, if it has one. A variable of the process wins even if
 * it is empty: `OPENAI_API_KEY= weir start` switches off the file's key.
 * @param shownAs the `.env` file's name in problems
 * @returns the readable part, if there are problems; `mayHave`: whether a missing variable may be in the other part
 */
export function readEnvironment(
  folder: string,
  processEnv: Environment,
  shownAs: string,
): {
  readonly environment: Environment;
  readonly problems: readonly ConfigProblem[];
  readonly mayHave: (name: string) => boolean;
} {
  const file = readTextFile(join(folder, ".env"), shownAs);
  if (file === null) return { environment: processEnv, problems: [], mayHave: () => false };
  if ("problem" in file)
    return { environment: processEnv, problems: [file.problem], mayHave: (name) => !(name in processEnv) };
  const { value: text } = file;
  const problem = problemOfDotEnv(text, shownAs);
  return {
    environment: { ...parseEnv(text.replaceAll(/\r\n?/g, "\n")), ...processEnv },
    problems: problem === null ? [] : [problem],
    mayHave: (name) => problem !== null && !(name in processEnv) && text.includes(name),
  };
}

/** @returns null if it is not set, or empty */
export function variable(environment: Environment, name: string): string | null {
  const value = Object.hasOwn(environment, name) ? environment[name]?.trim() : undefined;
  return value === undefined || value === "" ? null : value;
}

/** The problem of a named variable that is not set. */
export function unsetVariable(
  name: string,
  environment: Environment,
): Pick<ConfigProblem, "message" | "expected" | "suggestion"> {
  const set = Object.keys(environment).filter((one) => variable(environment, one) !== null);
  return {
    message: `the environment variable ${name} is not set, or empty`,
    expected: `${name} in the environment or in .env`,
    suggestion: nearestName(name, set),
  };
}

/** The problem of a variable's value. The value is not shown: an address may have a password. */
export function unusableVariable(name: string): string {
  return `the environment variable ${name} cannot be used`;
}

/** Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, also in lower case. Null: no proxy is named. */
export function readProxies(environment: Environment): {
  readonly proxies: Proxies | null;
  readonly problems: readonly ConfigProblem[];
} {
  const problems: ConfigProblem[] = [];
  const addressIn = (names: readonly string[]): string | null => {
    const name = names.find((one) => variable(environment, one) !== null);
    const value = name === undefined ? null : variable(environment, name);
    if (name === undefined || value === null) return null;
    const address = proxyAddress(value);
    if (address === null) {
      const expected = 'the address of an HTTP proxy, such as "http://proxy.example:3128"';
      problems.push(configProblem({ message: unusableVariable(name), expected }));
    }
    return address;
  };
  const https = addressIn(PROXY_VARIABLES.https);
  const http = addressIn(PROXY_VARIABLES.http);
  const except = EXCEPT_VARIABLES.map((name) => variable(environment, name)).find((value) => value !== null);
  const isNone = https === null && http === null;
  return { proxies: isNone ? null : { https, http, except: except ?? "" }, problems };
}

/** Node's parser skips lines that it does not understand: such a setting would have no effect. */
function problemOfDotEnv(text: string, shownAs: string): ConfigProblem | null {
  const lines = text.split(/\r\n|\n|\r/);
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (/^\s*(#|$)/.test(line)) continue;
    const assignment = /^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=\s*(["'`]?)(.*)/.exec(line);
    // The line itself is not shown: it may be a secret.
    const problem = (message: string): ConfigProblem =>
      configProblem({ file: shownAs, line: index + 1, message });
    if (assignment === null) return problem("this line is not of the form NAME=value");
    const [, quote = "", rest = ""] = assignment;
    if (quote === "" || rest.includes(quote)) continue;
    const closing = lines.findIndex((later, at) => at > index && later.includes(quote));
    if (closing < 0) return problem("the closing quote of this value is missing");
    index = closing;
  }
  return null;
}

/**
 * The value of a header, with the variable that its end names: `Bearer env:NAME`.
 * @param take the value of a variable
 */
export function filledHeader(value: string, take: (name: string) => string): string {
  const { before = "", name } =
    /^(?<before>.*?)(?<![^\s])env:(?<name>[A-Za-z_]\w*)$/.exec(value)?.groups ?? {};
  return name === undefined ? value : `${before}${take(name)}`;
}
