import { connect, createServer, type Socket } from "node:net";
import { startListening } from "../listening.ts";

/** A connection between a client and a server that can be cut, slowed down or silenced. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections, and refuses new ones until {@link open}. */
  cut(): void;
  /** Drops the client's data without notice, also of new connections. */
  silence(): void;
  /** Drops all data in both directions without notice, like a broken network. */
  vanish(): void;
  /** Delays all data by this time, ms, until {@link open}. */
  slow(lagMs: number): void;
  /** Passes all data again, beginning with the held data. */
  open(): void;
}

/** A server on this machine, or a server's socket in a folder. */
export type ProxyTarget = { readonly host: string; readonly port: number } | { readonly path: string };

export async function startTcpProxy(target: ProxyTarget): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let state: "open" | "cut" | "silent" | "vanished" = "open";
  const isHeld = (from: Socket): boolean => state === "vanished" || (state === "silent" && clients.has(from));
  let lagMs = 0;
  const server = createServer((client) => {
    if (state === "cut") return void client.destroy();
    const far = connect(target);
    clients.add(client);
    client.on("close", () => clients.delete(client));
    for (const [from, to] of [
      [client, far],
      [far, client],
    ] as const) {
      sockets.add(from);
      const write = (bytes: Buffer): void => {
        if (!to.destroyed && !to.write(bytes)) from.pause();
      };
      const pass = inOrder(write);
      from.on("error", () => undefined);
      from.on("data", (bytes) => pass(bytes, lagMs));
      to.on("drain", () => {
        if (!isHeld(from)) from.resume();
      });
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    for (const from of [client, far]) if (isHeld(from)) from.pause();
  });
  const listening = await startListening(server);
  const cut = (): void => {
    state = "cut";
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: listening.port,
    cut,
    silence() {
      state = "silent";
      for (const socket of clients) socket.pause();
    },
    vanish() {
      state = "vanished";
      for (const socket of sockets) socket.pause();
    },
    slow(ms) {
      lagMs = ms;
    },
    open() {
      state = "open";
      lagMs = 0;
      for (const socket of sockets) socket.resume();
    },
    async [Symbol.asyncDispose]() {
      cut();
      await listening[Symbol.asyncDispose]();
    },
  };
}

/** Writes bytes after a delay, in their order of arrival. */
function inOrder(write: (bytes: Buffer) => void): (bytes: Buffer, lagMs: number) => void {
  const waiting: { readonly bytes: Buffer; readonly at: number }[] = [];
  const drain = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const restMs = next.at - performance.now();
      if (restMs > 0) return void setTimeout(drain, Math.ceil(restMs));
      waiting.shift();
      write(next.bytes);
    }
  };
  return (bytes, lagMs) => {
    if (lagMs === 0 && waiting.length === 0) return write(bytes);
    waiting.push({ bytes, at: performance.now() + lagMs });
    if (waiting.length === 1) drain();
  };
}
