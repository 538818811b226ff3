import { chown, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { OperatorError } from "../../../core/errors.ts";
import { findForeign } from "../data-folder.ts";
import { runProgram, type ProgramResult } from "./program.ts";

/** The account that runs the server's programs: Postgres refuses to run as root. */
export interface ServerAccount {
  /** Null: the account that runs Weir. */
  readonly ids: AccountIds | null;
  /** A command that stands before a program: empty, or the one that switches the account. */
  readonly prefix: readonly string[];
}

interface AccountIds {
  readonly uid: number;
  readonly gid: number;
}

/** One that the machine has for Postgres, one of our own, and the one that every machine has. */
const KNOWN_NAMES = ["postgres", "weir"];
const OWN_NAME = "weir";
const LAST_RESORT_NAME = "nobody";

/** Either lets a process enter folders that are closed to its account. The first allows less. */
const FOLDER_CAPABILITIES = ["dac_read_search", "dac_override"];

/**
 * Finds the account for a data folder, and makes one where root has none.
 * @param pgData the server's data folder; its owner, where it exists, is the account
 * @param folders what the account has to be able to enter
 * @throws OperatorError if no account can
 */
export async function findServerAccount(pgData: string, folders: readonly string[]): Promise<ServerAccount> {
  const owner = await stat(pgData).catch(() => null);
  const self = process.getuid?.();
  if (self !== 0) {
    if (owner !== null && self !== undefined && owner.uid !== self) {
      throw new OperatorError(
        `The database in ${pgData} belongs to another account (uid ${owner.uid}, this is ${self}). ` +
          "Start Weir as the account that made it, or as root, or give that folder to this account (chown -R).",
      );
    }
    return { ids: null, prefix: [] };
  }
  const ids =
    owner !== null && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : await unprivilegedAccount();
  if (owner?.uid === 0) await giveAway(pgData, ids);
  await letIn(ids, dirname(pgData));
  return reachingAccount(ids, folders);
}

export async function giveToAccount(account: ServerAccount, path: string): Promise<void> {
  if (account.ids !== null) await chown(path, account.ids.uid, account.ids.gid);
}

/** Runs one of the server's programs as the account. */
export function runAs(
  account: ServerAccount,
  command: readonly [string, ...string[]],
  options: Parameters<typeof runProgram>[1] = {},
): Promise<ProgramResult> {
  const [first, ...rest] = account.prefix;
  const full: readonly [string, ...string[]] = first === undefined ? command : [first, ...rest, ...command];
  const switchesItself = first !== undefined;
  return runProgram(full, { ...options, ...(account.ids === null || switchesItself ? {} : account.ids) });
}

async function unprivilegedAccount(): Promise<AccountIds> {
  for (const name of KNOWN_NAMES) {
    const ids = await idsOf(name);
    if (ids !== null) return ids;
  }
  const made = await runProgram([
    "useradd",
    "--system",
    "--no-create-home",
    "--shell",
    "/usr/sbin/nologin",
    OWN_NAME,
  ]);
  const ids = (made.code === 0 ? await idsOf(OWN_NAME) : null) ?? (await idsOf(LAST_RESORT_NAME));
  if (ids !== null) return ids;
  throw new OperatorError(
    "Postgres does not run as root, and no account for it was found or could be made. " +
      "Make one (useradd --system weir), start Weir as an ordinary user, or set DATABASE_URL.",
  );
}

async function idsOf(name: string): Promise<AccountIds | null> {
  const [user, group] = await Promise.all([runProgram(["id", "-u", name]), runProgram(["id", "-g", name])]);
  if (user.code !== 0 || group.code !== 0) return null;
  const ids = { uid: Number.parseInt(user.output, 10), gid: Number.parseInt(group.output, 10) };
  return ids.uid > 0 && Number.isSafeInteger(ids.gid) ? ids : null;
}

async function giveAway(folder: string, ids: AccountIds): Promise<void> {
  const done = await runProgram(["chown", "-R", `${ids.uid}:${ids.gid}`, folder]);
  if (done.code !== 0) {
    throw new OperatorError(`The database folder ${folder} could not be given away: ${done.output}`);
  }
}

/**
 * A data folder of root's that is closed to all others is given to the account that works in it; root gets in all the same. One
 * that holds more (/root itself) stays root's, and the account goes through it by its capability.
 */
async function letIn({ uid, gid }: AccountIds, dataDir: string): Promise<void> {
  const { uid: owner, mode } = await stat(dataDir);
  const isClosedByRoot = owner === 0 && (mode & 0o077) === 0;
  if (isClosedByRoot && (await findForeign(dataDir)) === null) await chown(dataDir, uid, gid);
}

/**
 * A checkout below a closed folder (/root, `mktemp -d`) is out of reach for the account. A capability that
 * lasts over `exec` opens the way without giving it anything else of root's.
 */
async function reachingAccount(ids: AccountIds, folders: readonly string[]): Promise<ServerAccount> {
  const plain: ServerAccount = { ids, prefix: [] };
  if (await canEnter(plain, folders)) return plain;
  for (const capability of process.platform === "linux" ? FOLDER_CAPABILITIES : []) {
    const account = { ids, prefix: setpriv(ids, capability) };
    if (await canEnter(account, folders)) return account;
  }
  throw new OperatorError(
    `Postgres runs as uid ${ids.uid}, which cannot enter ${folders.join(" or ")}. Move the checkout (or data_dir) ` +
      "below a folder that others may enter, start Weir as an ordinary user, or set DATABASE_URL.",
  );
}

function setpriv(ids: AccountIds, capability: string): string[] {
  return [
    "setpriv",
    `--reuid=${ids.uid}`,
    `--regid=${ids.gid}`,
    "--clear-groups",
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
    // Without this, access(2) drops the capabilities of whoever is not root, and initdb and pg_ctl look for
    // their neighbours with it: "invalid binary … Permission denied".
    "--securebits=+no_setuid_fixup",
  ];
}

async function canEnter(account: ServerAccount, folders: readonly string[]): Promise<boolean> {
  const script = 'for folder; do cd "$folder" || exit 1; done';
  const tried = await runAs(account, ["/bin/sh", "-c", script, "sh", ...folders]);
  return tried.code === 0;
}
