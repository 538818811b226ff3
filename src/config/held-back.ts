import { OperatorError } from "../core/errors.ts";
import { conflictLine } from "./conflict-marks.ts";
import type { GitWork } from "./git-work.ts";
import { parseToml } from "./toml-document.ts";
import { isTable } from "./value-tree.ts";

/** The files of a configuration as they are at one moment. */
export interface ConfigurationTexts {
  /** The text of `config.toml`; null: there is no such file. */
  readonly main: string | null;
  /** All texts by their paths, `config.toml` among them. */
  readonly all: ReadonlyMap<string, string | null>;
}

/** A changed configuration is not put in force yet. */
export class HeldBackError extends OperatorError {
  /** No file of it changes when the reason ends. */
  readonly endsUnseen: boolean;

  constructor(why: string, endsUnseen: boolean) {
    super(
      `${why}. Held back until that changes, or until \`weir reload --force\`, which takes what is there.`,
    );
    this.endsUnseen = endsUnseen;
  }
}

/**
 * Decides whether changed files may be half of a change, such as `git stash && git pull && git stash pop`. Pure.
 * @param shownAs the name of config.toml
 * @param git what git does in its repository; null: nothing
 * @returns null: they may be put in force
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

/** Whether any key is set, be it wrong: the shipped file has tables and comments alone. */
function saysAnything(text: string | null): boolean {
  if (text === null || text.trim() === "") return false;
  const parsed = parseToml(text, "", () => false);
  return "problem" in parsed || hasLeaf(parsed.value.value);
}

function hasLeaf(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isTable(value) ? Object.values(value).some(hasLeaf) : true;
}
