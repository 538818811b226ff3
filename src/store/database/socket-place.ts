import { createHash } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { lstat, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { errorMessage, OperatorError } from "../../core/errors.ts";

/** Bytes of a socket's path that the kernel takes: `sun_path` less its closing NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === "darwin" ? 103 : 107;

export interface SocketPlace {
  readonly dataDir: string;
  /** Name of the folder inside of the data folder. */
  readonly folder: string;
  /** Begins the name of the folder among the temporary files. */
  readonly prefix: string;
  /** The longest name of a file in it, for the length of its path. */
  readonly socketName: string;
}

/**
 * The folder for a Unix socket: inside of the data folder or, where its path would be too long for a socket, one among the
 * temporary files that is the same at every start: below TMPDIR, or below /tmp where that cannot be used.
 */
export function socketFolderOf({ dataDir, folder, prefix, socketName }: SocketPlace): string {
  const inside = join(dataDir, folder);
  if (fits(inside, socketName)) return inside;
  const name = `${prefix}-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`;
  const places = [tmpdir(), "/tmp"].map((temporary) => join(temporary, name));
  return places.find((place) => fits(place, socketName) && mayWrite(dirname(place))) ?? join("/tmp", name);
}

/**
 * Makes the folder of a socket, closed to others, where there is none.
 * @param owners ids of the accounts whose it may be
 * @param what in words, for the error: `database socket`
 * @throws OperatorError if another account owns the place, or it cannot be made
 */
export async function makeSocketFolder(
  folder: string,
  owners: readonly (number | undefined)[],
  what: string,
): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return;
    throw new OperatorError(
      `Weir's private folder for its ${what} cannot be made (${errorMessage(error)}). Set TMPDIR to a folder that can be written, or ` +
        "data_dir under [database] to a shorter path.",
      { cause: error },
    );
  });
  const found = await lstat(folder);
  if (found.isDirectory() && owners.includes(found.uid)) return;
  throw new OperatorError(
    `${folder} should be Weir's private folder for its ${what}, but somebody else made it. ` +
      "Find out who, remove it, and start again.",
  );
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function fits(folder: string, socketName: string): boolean {
  return Buffer.byteLength(join(folder, socketName)) <= MAX_SOCKET_PATH_BYTES;
}
