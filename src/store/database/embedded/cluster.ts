import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../../../core/errors.ts";
import type { Binaries } from "./binaries.ts";
import { DISK_FULL, runProgram } from "./program.ts";
import { giveToAccount, runAs, type ServerAccount } from "./server-account.ts";

export const USER_NAME = "weir";
export const DATABASE_NAME = "weir";

/**
 * Trigrams know letters by LC_CTYPE: with "C" every CJK text has none at all. Names of the same thing on
 * various systems, the last of which is everywhere.
 */
const CTYPES = ["C.UTF-8", "en_US.UTF-8", "UTF-8", "C"];

/**
 * Makes the server's data folder where there is none. One that is there is whole: it is made under another name
 * and renamed when it is.
 * @returns true if it was made just now
 * @throws OperatorError if it is there, and was made by another major version
 */
export async function ensureCluster(
  binaries: Binaries,
  account: ServerAccount,
  pgData: string,
): Promise<boolean> {
  const version = await readFile(join(pgData, "PG_VERSION"), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return null;
  });
  if (version === null) {
    await createCluster(binaries, account, pgData);
    return true;
  }
  if (version.trim() === binaries.majorVersion) return false;
  throw new OperatorError(
    `The database in ${pgData} was made by Postgres ${version.trim()}, the embedded one is ${binaries.majorVersion}. ` +
      "Dump it with the Weir that made it and restore it here (pg_dump, psql), or set DATABASE_URL to a server " +
      `of version ${version.trim()} that has it.`,
  );
}

async function createCluster(binaries: Binaries, account: ServerAccount, pgData: string): Promise<void> {
  const unfinished = `${pgData}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await giveToAccount(account, unfinished);
  const ctype = await firstKnownCtype();
  await must("initdb", account, [
    binaries.initdb,
    `--pgdata=${unfinished}`,
    `--username=${USER_NAME}`,
    "--encoding=UTF8",
    // Rules of its own for sorting and case: an update of the machine's C library corrupts no index.
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--lc-collate=C",
    `--lc-ctype=${ctype}`,
    "--lc-messages=C",
    "--lc-monetary=C",
    "--lc-numeric=C",
    "--lc-time=C",
    "--auth-local=trust",
    "--auth-host=reject",
    "--no-instructions",
  ]);
  // A server without a socket: it reads statements from its input and ends.
  await must(
    "CREATE DATABASE",
    account,
    [binaries.postgres, "--single", "-D", unfinished, "template1"],
    `CREATE DATABASE ${DATABASE_NAME}\n`,
  );
  await rename(unfinished, pgData);
}

/** Of an empty database with its write-ahead log. */
const NEW_DATABASE_MB = 100;

async function must(
  step: string,
  account: ServerAccount,
  command: readonly [string, ...string[]],
  input = "",
): Promise<void> {
  const { code, output } = await runAs(account, command, { input });
  if (code === 0 && !/ (?:ERROR|FATAL|PANIC): /.test(output)) return;
  throw setupProblem(step, code, output);
}

/** Why the data folder could not be made. @param output of the program that made it */
export function setupProblem(step: string, code: number, output: string): OperatorError {
  if (DISK_FULL.test(output))
    return new OperatorError(
      `The disk is full: the embedded Postgres could not be set up. A new database needs about ${NEW_DATABASE_MB} MB. Make room ` +
        "and start again, or set data_dir under [database] to a folder on another disk.",
    );
  return new OperatorError(
    `The embedded Postgres could not be set up (${step} ended with ${code}):\n${output}`,
  );
}

async function firstKnownCtype(): Promise<string> {
  const listed = await runProgram(["locale", "-a"]);
  const known = new Set(listed.output.split("\n").map((line) => normalLocaleName(line.trim())));
  return CTYPES.find((name) => known.has(normalLocaleName(name))) ?? "C";
}

/** `locale -a` writes C.utf8 where every program takes C.UTF-8 as well. */
function normalLocaleName(name: string): string {
  return name.toLowerCase().replace("utf-8", "utf8");
}
