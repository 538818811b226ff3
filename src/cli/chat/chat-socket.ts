import { chmod, realpath, rm, stat } from "node:fs/promises";
import path from "node:path";
import { isMissingFile } from "../../core/errors.ts";
import { readText, SHORT } from "../../files/read-file.ts";
import { replaceFile } from "../../files/write-file.ts";
import { CHAT_FOLDER, makePrivateFolder } from "../../store/database/data-folder.ts";
import { makeSocketFolder, socketFolderOf } from "../../store/database/socket-place.ts";

/** The socket itself. While it is made, its name ends with a point and eight digits. */
const SOCKET = "socket";
const LONGEST_NAME = `${SOCKET}.00000000`;
/** Holds the path of the socket, where that is not inside of the data folder. */
const PLACE_FILE = "socket.path";

/**
 * Makes the folder for the socket by which chats attach to this daemon, closed to other accounts, and records it in the data
 * folder.
 * @returns the path for the socket
 * @throws OperatorError if another account has put something in its place; an error of the system if it cannot be made
 */
export async function prepareChatSocket(dataDir: string): Promise<string> {
  await makePrivateFolder(dataDir);
  const { inside, folder } = await foldersOf(dataDir);
  await ownFolder(inside);
  const place = path.join(inside, PLACE_FILE);
  const socket = path.join(folder, SOCKET);
  if (folder === inside) {
    await rm(place, { force: true });
    return socket;
  }
  await ownFolder(folder);
  replaceFile(place, `${socket}\n`);
  return socket;
}

/** @returns the path of the socket of the daemon on this data folder; null: there is no such daemon */
export async function findChatSocket(dataDir: string): Promise<string | null> {
  try {
    const { inside, folder } = await foldersOf(dataDir);
    const socket = path.join(inside, SOCKET);
    if (folder === inside) return (await stat(socket)).isSocket() ? socket : null;
    return readText(path.join(inside, PLACE_FILE), SHORT).trim();
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
}

async function ownFolder(folder: string): Promise<void> {
  await makeSocketFolder(folder, [process.getuid?.()], "chat socket");
  await chmod(folder, 0o700);
}

/** Resolves the data folder, so that other paths to it lead to the same socket. */
async function foldersOf(dataDir: string): Promise<{ readonly inside: string; readonly folder: string }> {
  const real = await realpath(dataDir);
  const place = { dataDir: real, folder: CHAT_FOLDER, prefix: "weir-chat", socketName: LONGEST_NAME };
  return { inside: path.join(real, CHAT_FOLDER), folder: socketFolderOf(place) };
}
