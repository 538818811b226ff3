import { createHash } from "node:crypto";
import { chmod, lstat, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OperatorError } from "../../../core/errors.ts";
import { giveToAccount, type ServerAccount } from "./server-account.ts";

/** Bytes of a socket's path that the kernel takes: `sun_path` less its closing NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === "darwin" ? 103 : 107;

/**
 * Makes the folder that holds the server's socket. Whoever can enter it is let in without a password, so it is
 * closed to all but the server's account (and root).
 * @param socketName the socket's file name, for the length of its path
 * @returns a folder inside of the data folder or, where its path would be too long for a socket, a private one
 *   among the temporary files that is the same at every start
 * @throws OperatorError if somebody else has put something in that place
 */
export async function prepareSocketFolder(
  dataDir: string,
  socketName: string,
  account: ServerAccount,
): Promise<string> {
  const inside = join(dataDir, "socket");
  const folder = fits(inside, socketName) ? inside : temporaryFolder(dataDir, socketName);
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await checkIsOurs(folder, account);
  await giveToAccount(account, folder);
  await chmod(folder, 0o700);
  return folder;
}

function fits(folder: string, socketName: string): boolean {
  return Buffer.byteLength(join(folder, socketName)) <= MAX_SOCKET_PATH_BYTES;
}

function temporaryFolder(dataDir: string, socketName: string): string {
  const name = `weir-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`;
  const folder = join(tmpdir(), name);
  return fits(folder, socketName) ? folder : join("/tmp", name);
}

async function checkIsOurs(folder: string, account: ServerAccount): Promise<void> {
  const found = await lstat(folder);
  const owners = [process.getuid?.(), account.ids?.uid];
  if (found.isDirectory() && owners.includes(found.uid)) return;
  throw new OperatorError(
    `${folder} should be Weir's private folder for its database socket, but somebody else made it. ` +
      "Find out who, remove it, and start again.",
  );
}
