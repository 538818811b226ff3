import { existsSync, realpathSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { loadConfig } from "../../config/load.ts";
import { errorMessage, isMissingFile, OperatorError } from "../../core/errors.ts";
import { LONG, readBytes, readText } from "../../files/read-file.ts";
import { replaceFile } from "../../files/write-file.ts";
import { withKey, withVariables } from "./edit-text.ts";

/** Where is set up. */
export interface Folder {
  readonly cwd: string;
  /** As `--config` has it. */
  readonly file: string | undefined;
}

/** A key of `config.toml`. */
export interface Setting {
  readonly table: string;
  readonly key: string;
  /** As TOML writes it. */
  readonly value: string;
}

export interface Settings {
  /** Of `.env`, by name. */
  readonly variables: Readonly<Record<string, string>>;
  readonly keys: readonly Setting[];
}

/**
 * Changes `.env` and `config.toml` by these, each completely or not at all. Afterwards only its owner may read `.env`.
 * @returns the files that were written
 * @throws OperatorError if a file cannot be written, or the new configuration cannot be read: then both are as they were
 */
export function writeSettings(
  { cwd, file = "config.toml" }: Folder,
  { variables, keys }: Settings,
): string[] {
  const config = path.resolve(cwd, file);
  const env = path.join(path.dirname(config), ".env");
  const envText = withVariables(textOf(env), variables);
  const configText = keys.reduce(
    (text, { table, key, value }) => withKey(text, table, key, value),
    textOf(config),
  );
  const changed = [
    { target: env, text: envText, mode: 0o600, is: Object.keys(variables).length > 0 },
    { target: config, text: configText, mode: modeOf(config), is: keys.length > 0 },
  ].filter(({ is }) => is);
  const before = changed.map(({ target }) => ({
    target,
    was: existsSync(target) ? { text: readBytes(target, LONG), mode: modeOf(target) } : null,
  }));
  try {
    for (const { target, text, mode } of changed) replace(target, text, mode);
    loadConfig({ cwd, file: existsSync(config) ? file : undefined });
  } catch (error) {
    for (const { target, was } of before) {
      if (was === null) rmSync(target, { force: true });
      else replace(target, was.text, was.mode);
    }
    throw new OperatorError(`Nothing was written: ${errorMessage(error)}`, { cause: error });
  }
  return changed.map(({ target }) => target);
}

function textOf(file: string): string {
  try {
    return readText(file, LONG);
  } catch (error) {
    if (isMissingFile(error)) return "";
    throw error;
  }
}

function modeOf(file: string): number {
  return existsSync(file) ? statSync(file).mode & 0o777 : 0o644;
}

/** Atomically: after a crash the old file is there. A link stays a link, and the owner stays the same. */
function replace(target: string, text: string | Buffer, mode: number): void {
  if (!existsSync(target)) return replaceFile(target, text, { mode });
  const real = realpathSync(target);
  const { uid, gid } = statSync(real);
  // Keeps the file's owner, which only root can and needs to do.
  replaceFile(real, text, process.getuid?.() === 0 ? { mode, owner: { uid, gid } } : { mode });
}
