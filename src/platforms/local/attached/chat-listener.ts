import { randomBytes } from "node:crypto";
import { chmod, rename, rm, stat } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";

/** Chats at a time. */
const MAX_CHATS = 256;

/**
 * Listens on a Unix socket, in a folder that is closed to other accounts. An existing socket is replaced at once: it belongs to
 * a killed daemon, or to one that makes way for this.
 */
export class ChatListener implements AsyncDisposable {
  readonly #path: string;
  readonly #server: Server;
  /** The socket's inode, which distinguishes it from a later daemon's in the same place. */
  #inode = 0n;
  #opening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(path: string, onChat: (socket: Socket) => void) {
    this.#path = path;
    this.#server = createServer(onChat);
    this.#server.maxConnections = MAX_CHATS;
  }

  /** @throws Error if the socket cannot be made */
  async open(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
  }

  async #open(): Promise<void> {
    const unfinished = `${this.#path}.${randomBytes(4).toString("hex")}`;
    this.#server.listen(unfinished);
    await once(this.#server, "listening");
    // A failed accept (no file descriptor is left) must not end the daemon.
    this.#server.on("error", () => undefined);
    await chmod(unfinished, 0o600);
    this.#inode = (await stat(unfinished, { bigint: true })).ino;
    await rename(unfinished, this.#path);
  }

  /** Accepts no more chats; attached ones stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Only once: a later socket in its place is another daemon's, and may have the same number.
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.#server.close();
    const there = await stat(this.#path, { bigint: true }).catch(() => null);
    if (there?.ino === this.#inode) await rm(this.#path, { force: true });
  }
}
