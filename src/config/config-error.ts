import { EXIT_CONFIGURATION, OperatorError } from "../core/errors.ts";
import { counted } from "../text/text.ts";

/** One problem that the operator must solve. No field ever holds a secret. */
export interface ConfigProblem {
  /** As an operator would write it: relative to the working directory if that is shorter. */
  readonly file: string | null;
  /** From 1. */
  readonly line: number | null;
  /** From 1. */
  readonly column: number | null;
  /** `agents[0].compaction.target`; null: the problem is not about one key. */
  readonly key: string | null;
  /** The problem, as a sentence without its full stop. */
  readonly message: string;
  /** The valid values; null: the message names them. */
  readonly expected: string | null;
  readonly found: string | null;
  /** The known key that was probably meant. */
  readonly suggestion: string | null;
  /** The line of the file with a caret under the place. */
  readonly excerpt: string | null;
}

/** All problems of the configuration at once. */
export class ConfigError extends OperatorError {
  readonly problems: readonly ConfigProblem[];
  override readonly exitCode = EXIT_CONFIGURATION;

  /** @param what the thing with the problems */
  constructor(problems: readonly ConfigProblem[], what = "The configuration") {
    const head = `${what} has ${counted(problems.length, "problem")}:`;
    super([head, ...problems.map(formatProblem)].join("\n\n"));
    this.problems = problems;
  }

  get first(): string {
    const [first] = this.problems;
    if (first === undefined) return "";
    const expected = first.expected === null ? "" : `; expected: ${first.expected}`;
    const place = formatPlace(first);
    return `${place === "" ? "" : `${place}: `}${first.message}${expected}`;
  }
}

export type ProblemFields = Partial<ConfigProblem> & Pick<ConfigProblem, "message">;

export function configProblem(fields: ProblemFields): ConfigProblem {
  return {
    file: null,
    line: null,
    column: null,
    key: null,
    expected: null,
    found: null,
    suggestion: null,
    excerpt: null,
    ...fields,
  };
}

/** `config.toml:12:3  agents[0].model`; "": no place. */
function formatPlace({ file, line, column, key }: ConfigProblem): string {
  const place = [file, line, column].filter((part) => part !== null).join(":");
  return [place, key].filter((part) => part !== null && part !== "").join("  ");
}

function formatProblem(problem: ConfigProblem): string {
  const head = formatPlace(problem);
  const lines = [problem.message];
  if (problem.expected !== null) lines.push(`expected: ${problem.expected}`);
  if (problem.found !== null) lines.push(`found:    ${problem.found}`);
  if (problem.suggestion !== null) lines.push(`did you mean \`${problem.suggestion}\`?`);
  const body = lines.flatMap((line) => line.split("\n")).map((line) => `    ${line}`);
  const excerpt = problem.excerpt === null ? [] : problem.excerpt.split("\n").map((line) => `    | ${line}`);
  return [...(head === "" ? [] : [`  ${head}`]), ...body, ...excerpt].join("\n");
}
