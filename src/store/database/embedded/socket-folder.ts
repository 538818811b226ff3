import { chmod } from "node:fs/promises";
import { makeSocketFolder, socketFolderOf } from "../socket-place.ts";
import { giveToAccount, type ServerAccount } from "./server-account.ts";

/**
 * Makes the folder that holds the server's socket. Whoever can enter it is let in without a password, so it is
 * closed to all but the server's account (and root).
 * @param socketName the socket's file name, for the length of its path
 * @returns a folder inside of the data folder or, where its path would be too long for a socket, a private one
 *   among the temporary files that is the same at every start
 * @throws OperatorError if another account owns the place
 */
export async function prepareSocketFolder(
  dataDir: string,
  socketName: string,
  account: ServerAccount,
): Promise<string> {
  const folder = socketFolderOf({ dataDir, folder: "socket", prefix: "weir", socketName });
  await makeSocketFolder(folder, [process.getuid?.(), account.ids?.uid], "database socket");
  await giveToAccount(account, folder);
  await chmod(folder, 0o700);
  return folder;
}
