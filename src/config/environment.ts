import { join } from "node:path";
import { parseEnv } from "node:util";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { readTextFile } from "./text-file.ts";

/** Variables by name, from the process or from `.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What was read of the environment. */
export interface ReadEnvironment {
  /** Where there are problems, what could be read all the same. */
  readonly environment: Environment;
  readonly problems: readonly ConfigProblem[];
  /** Whether a variable that was not found may stand in what could not be read. */
  readonly mayHave: (name: string) => boolean;
}

/**
 * The variables of the process over those of the `.env` file in a folder, if it has one. A variable that the
 * process has wins even where it is empty: `OPENAI_API_KEY= weir start` switches the key of the file off.
 * @param shownAs the `.env` file's name in problems
 */
export function readEnvironment(folder: string, processEnv: Environment, shownAs: string): ReadEnvironment {
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

/** What is wrong where a variable that is named is not set. */
export function unsetVariable(name: string): { readonly message: string; readonly expected: string } {
  return {
    message: `the environment variable ${name} is not set, or empty`,
    expected: `${name} in the environment or in .env`,
  };
}

/** What is wrong with what it holds, which is not shown: an address may carry a password. */
export function unusableVariable(name: string): string {
  return `the environment variable ${name} cannot be used`;
}

/** Node's parser skips what it does not understand; a line that is skipped is a setting that has no effect. */
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
 * The value of a header, in which the variable stands that its end names: `Bearer env:NAME`.
 * @param take the value of a variable
 */
export function filledHeader(value: string, take: (name: string) => string): string {
  const { before = "", name } =
    /^(?<before>.*?)(?<![^\s])env:(?<name>[A-Za-z_]\w*)$/.exec(value)?.groups ?? {};
  return name === undefined ? value : `${before}${take(name)}`;
}
