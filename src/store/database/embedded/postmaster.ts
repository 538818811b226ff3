import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isLiveProcess } from "../live-process.ts";
import { runProgram } from "./program.ts";

/** What a data folder's postmaster.pid says of the server that runs on it. */
export type Postmaster =
  | { readonly state: "absent" }
  /** The file is there, its process is not. `pidIsForeign`: another program has its number by now. */
  | { readonly state: "dead"; readonly pidIsForeign: boolean }
  | { readonly state: "starting" | "stopping"; readonly pid: number }
  | { readonly state: "ready"; readonly pid: number; readonly port: number; readonly socketFolder: string };

/**
 * Error codes of too many open files: they do not tell whether this file exists.
 */
const NOT_NOW = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/** For a file that may be missing. @throws if it may be there all the same */
function nothingIfUnread<Nothing>(nothing: Nothing): (error: NodeJS.ErrnoException) => Nothing {
  return (error) => {
    if (NOT_NOW.has(error.code ?? "")) throw error;
    return nothing;
  };
}

/** More than any process id of Linux (2^22) or macOS. */
const IMPOSSIBLE_PID = 99_999_999;

/**
 * Looks at a data folder's server. The file has a line each for: process id, data folder, start time, port,
 * socket folder, address, shared memory, status (miscadmin.h of Postgres).
 */
export async function observePostmaster(pgData: string): Promise<Postmaster> {
  const content = await readFile(pidFile(pgData), "utf8").catch(nothingIfUnread(null));
  if (content === null) return { state: "absent" };
  const lines = content.split("\n").map((line) => line.trim());
  const pid = Number.parseInt(lines[0] ?? "", 10);
  if (!isLiveProcess(pid)) return { state: "dead", pidIsForeign: false };
  if (!(await isPostmasterOf(pgData, pid))) return { state: "dead", pidIsForeign: true };
  const [, , , port, socketFolder] = lines;
  const status = lines[7];
  if (status === "stopping") return { state: "stopping", pid };
  if (status !== "ready" || port === undefined || socketFolder === undefined)
    return { state: "starting", pid };
  return { state: "ready", pid, port: Number.parseInt(port, 10), socketFolder };
}

/**
 * Postgres will not start while the process id in a left-over file is in use, by whatever program: a container
 * that restarts deals out the same low numbers again, and the file of a copied folder names the original's
 * server. The rest of the file stays: by it Postgres finds out whether backends of the dead server still live.
 * @param socketPath the socket of this folder's server; a file beside it holds the same process id
 */
export async function disownForeignPid(pgData: string, socketPath: string): Promise<void> {
  const content = await readFile(pidFile(pgData), "utf8");
  await writeFile(pidFile(pgData), content.replace(/^\d+/, String(IMPOSSIBLE_PID)));
  await rm(`${socketPath}.lock`, { force: true });
}

function pidFile(pgData: string): string {
  return join(pgData, "postmaster.pid");
}

/** Is that process a Postgres that was started for exactly this folder (and not for the one it was copied from)? */
async function isPostmasterOf(pgData: string, pid: number): Promise<boolean> {
  if (process.platform !== "linux") {
    const listed = await runProgram(["ps", "-ww", "-o", "command=", "-p", String(pid)]);
    return listed.output.includes("postgres") && listed.output.includes(pgData);
  }
  const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(nothingIfUnread(""));
  const [program, ...args] = commandLine.split("\0");
  return basename(program ?? "") === "postgres" && args.includes(pgData);
}
