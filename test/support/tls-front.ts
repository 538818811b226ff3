import { connect, createServer, type Socket } from "node:net";
import path from "node:path";
import { type SecureVersion, TLSSocket } from "node:tls";
import type { Connection } from "../../src/store/database/queryable.ts";
import type { Identity } from "./certificates.ts";
import { startListening } from "./listening.ts";

/** The front of a Postgres: it encrypts, refuses to, or is another program. */
export type Shown =
  | (Identity & { readonly maxVersion?: SecureVersion })
  | "plain"
  | { readonly says: string | Buffer };

/** A server reached over the network, with a changing certificate. */
export interface TlsFront extends AsyncDisposable {
  readonly port: number;
  /** Number of connections so far. */
  readonly dialled: number;
  /** Changes the front, and ends all connections. */
  show(what: Shown): void;
}

export async function startTlsFront(target: Connection, first: Shown): Promise<TlsFront> {
  let shown = first;
  let dialled = 0;
  const sockets = new Set<Socket>();
  const kept = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const listening = await startListening(
    createServer((client) => {
      dialled += 1;
      kept(client).once("data", (request) => {
        client.pause();
        if (shown === "plain") return answerPlainly(client, request, () => kept(dial(target)));
        if ("says" in shown) return void client.end(shown.says);
        client.write("S");
        const { cert, key, maxVersion } = shown;
        const secure = new TLSSocket(client, {
          isServer: true,
          cert,
          key,
          ...(maxVersion && { maxVersion }),
        });
        secure.on("error", () => client.destroy());
        join(secure, kept(dial(target)));
      });
    }),
  );
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: listening.port,
    get dialled() {
      return dialled;
    },
    show(what) {
      shown = what;
      endAll();
    },
    async [Symbol.asyncDispose]() {
      endAll();
      await listening[Symbol.asyncDispose]();
    },
  };
}

/** The length and the code of a request for encryption. */
const SSL_REQUEST = Buffer.from("0000000804d2162f", "hex");

function answerPlainly(client: Socket, request: Buffer, far: () => Socket): void {
  if (request.equals(SSL_REQUEST)) {
    client.write("N");
    client.resume();
    return;
  }
  const server = far();
  server.write(request);
  join(client, server);
}

function join(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  one.on("close", () => other.destroy());
  other.on("close", () => one.destroy());
}

function dial(target: Connection): Socket {
  if (!("url" in target)) return connect(path.join(target.host, `.s.PGSQL.${target.port}`));
  const { port, hostname } = new URL(target.url);
  return connect(Number(port === "" ? 5432 : port), hostname);
}
