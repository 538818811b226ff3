import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { OperatorError } from "../core/errors.ts";
import { weirCommand } from "../files/installation.ts";
import type { Environment } from "./environment.ts";

/** The folder with everything of an operator: `config.toml`, `.env`, `agents/`, data, exports. */
export interface Home {
  /** Absolute. */
  readonly folder: string;
  /** Why it is this one. */
  readonly by: "--home" | "WEIR_HOME" | "this folder" | "default";
}

interface Places {
  /** As `--home` has it. */
  readonly option?: string | undefined;
  readonly env: Environment;
  /** Absolute. */
  readonly cwd: string;
  /** Absolute path of the account's own folder. */
  readonly account: string;
  readonly isClone: boolean;
  readonly hasConfig: (folder: string) => boolean;
}

/**
 * Chooses the home: `--home`, else `WEIR_HOME`, else the current folder if it has a `config.toml`, else, of a Weir that is
 * installed as a package, `~/.weir`. A clone's commands run in the clone, which is its own home. Pure.
 */
export function chooseHome({ option, env, cwd, account, isClone, hasConfig }: Places): Home {
  if (option !== undefined) return { folder: resolve(cwd, option), by: "--home" };
  const named = env["WEIR_HOME"]?.trim() ?? "";
  if (named !== "") return { folder: resolve(cwd, named), by: "WEIR_HOME" };
  if (isClone || hasConfig(cwd)) return { folder: cwd, by: "this folder" };
  return { folder: join(account, ".weir"), by: "default" };
}

/** @throws OperatorError if somebody names a home that is no folder: a new one would hide a mistake in its name */
export function assertHome({ folder, by }: Home): void {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return;
  if (stat !== undefined) throw new OperatorError(`The home is no folder: ${folder} (${by}).`);
  if (by === "--home" || by === "WEIR_HOME")
    throw new OperatorError(
      `There is no folder ${folder} (${by}). To make this home: ${homeCommand({ folder, by: "--home" }, "init")}`,
    );
}

/** What a person types to run a command of Weir on this home. */
export function homeCommand({ folder, by }: Home, words: string): string {
  const named = /^[\w./-]+$/.test(folder) ? folder : `"${folder.replaceAll(/["\\$`]/g, "\\$&")}"`;
  return weirCommand(by === "--home" ? `--home ${named} ${words}` : words);
}
