import { OperatorError } from "../core/errors.ts";
import { conflictLine, type GitWork } from "./git-work.ts";
import { parseToml } from "./toml-document.ts";
import { isTable } from "./value-tree.ts";
import { weirCommand } from "../files/installation.ts";

export interface ConfigurationTexts {
  /** The text of `config.toml`; null: no such file. */
  readonly main: string | null;
  /** All texts by path, with `config.toml`. */
  readonly all: ReadonlyMap<string, string | null>;
}

/** A changed configuration is not yet in force. */
export class HeldBackError extends OperatorError {
  /** The end of the reason changes none of its files. */
  readonly endsUnseen: boolean;

  constructor(why: string, endsUnseen: boolean) {
    super(
      `${why}. Held back until that changes, or until \`${weirCommand("reload --force")}\`, which takes what is there.`,
    );
    this.endsUnseen = endsUnseen;
  }
}

/**
 * Decides whether changed files may be part of an unfinished change, such as `git stash && git pull && git stash pop`.
 * Pure.
 * @param shownAs the name of config.toml
 * @param git git's operation in its repository; null: none
 * @returns null: they may take effect
 */
export function whyHeldBack(
  now: ConfigurationTexts,
  current: ConfigurationTexts,
  shownAs: string,
  git: GitWork | null,
): HeldBackError | null {
  if (isSame(now, current)) return null;
  if (saysAnything(current.main) && !saysAnything(now.main))
    return new HeldBackError(`${shownAs} ${describeSilence(now.main)}`, false);
  for (const [path, text] of now.all) {
    const line = text === null ? null : conflictLine(text);
    if (line !== null) return new HeldBackError(`${path}:${line} has a conflict mark of git`, false);
  }
  return git === null ? null : new HeldBackError(`git is at work there: ${git.what} (${git.mark})`, true);
}

function describeSilence(text: string | null): string {
  if (text === null) return "is not there any more";
  return text.trim() === "" ? "is empty" : "says nothing any more, like the file that Weir is shipped with";
}

function isSame({ all }: ConfigurationTexts, before: ConfigurationTexts): boolean {
  return all.size === before.all.size && [...all].every(([path, text]) => before.all.get(path) === text);
}

/** Whether any key is set, even a wrong one: the shipped file has only tables and comments. */
function saysAnything(text: string | null): boolean {
  if (text === null || text.trim() === "") return false;
  const parsed = parseToml(text, "", () => false);
  return "problem" in parsed || hasLeaf(parsed.value.value);
}

function hasLeaf(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isTable(value) ? Object.values(value).some(hasLeaf) : true;
}
