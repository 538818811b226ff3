import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A line between a client and a server that can be cut, or go silent. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections, and takes no new ones until {@link open}. */
  cut(): void;
  /** Nothing of the client comes through any more, and nobody is told. New connections are as silent. */
  silence(): void;
  /** All goes through again, with what was held back. */
  open(): void;
}

export async function startTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let state: "open" | "cut" | "silent" = "open";
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
      from.on("error", () => undefined);
      from.on("data", (bytes) => {
        if (!to.write(bytes)) from.pause();
      });
      to.on("drain", () => {
        if (state !== "silent" || from === far) from.resume();
      });
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    if (state === "silent") client.pause();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const cut = (): void => {
    state = "cut";
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    silence() {
      state = "silent";
      for (const socket of clients) socket.pause();
    },
    open() {
      state = "open";
      for (const socket of sockets) socket.resume();
    },
    async [Symbol.asyncDispose]() {
      cut();
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}
