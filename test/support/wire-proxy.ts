import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { startListening } from "./listening.ts";
import type { ProxyTarget } from "./cluster/tcp-proxy.ts";

/** Programs between Weir and a Postgres that speak its protocol, version 3. */

export interface WireProxy extends AsyncDisposable {
  readonly port: number;
}

/** The type of a server's message, and all of it. */
type Hear = (type: string, message: Buffer) => void;

/** Bytes before a message's length, which counts itself but not these. */
const HEAD = 1;
const READY = "Z";
const PARAMETER = "S";
const IDLE = "I".charCodeAt(0);
/** A client's messages for ending, and for requesting encryption. */
const TERMINATE = "X".charCodeAt(0);
const ENCRYPT = 80877103;

/** Cuts the bytes of a server into messages. */
function inMessages(hear: Hear): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= HEAD + 4) {
      const size = HEAD + rest.readInt32BE(HEAD);
      if (rest.length < size) return;
      const message = rest.subarray(0, size);
      rest = rest.subarray(size);
      hear(String.fromCharCode(message[0] ?? 0), message);
    }
  };
}

/** A connection to the server, with its present reader. */
interface Backend {
  readonly socket: Socket;
  hear: Hear;
}

/** @returns when the client has sent its startup message */
async function readStart(client: Socket): Promise<Buffer> {
  for (;;) {
    // oxlint-disable-next-line no-unsafe-type-assertion -- of a socket without an encoding
    const [bytes] = (await once(client, "data")) as [Buffer];
    if (bytes.readInt32BE(4) !== ENCRYPT) return bytes;
    client.write("N");
  }
}

function openBackend(target: ProxyTarget, sockets: Set<Socket>): Backend {
  const socket = connect(target);
  sockets.add(socket);
  const backend: Backend = { socket, hear: () => undefined };
  socket.on("error", () => undefined);
  socket.on(
    "data",
    inMessages((type, message) => backend.hear(type, message)),
  );
  return backend;
}

type Serve = (client: Socket, sockets: Set<Socket>) => Promise<void>;

async function startProxy(serve: Serve): Promise<WireProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    // A client that leaves at once needs no service.
    serve(client, sockets).catch(() => client.destroy());
  });
  const listening = await startListening(server);
  return {
    port: listening.port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await listening[Symbol.asyncDispose]();
    },
  };
}

/**
 * A pooler in transaction mode: each client adds a connection to the server to the pool, and holds one of them until
 * the server is ready outside a transaction.
 * @param next which free one is used: the most or the least recently used
 */
export async function startPooler(target: ProxyTarget, next: "last" | "longest"): Promise<WireProxy> {
  const free: Backend[] = [];
  const waiting: (() => void)[] = [];
  const release = (backend: Backend): void => {
    backend.hear = () => undefined;
    free.push(backend);
    waiting.shift()?.();
  };
  return startProxy(async (client, sockets) => {
    const start = await readStart(client);
    let backend: Backend | null = openBackend(target, sockets);
    const held: Buffer[] = [];
    const serve = (mine: Backend): void => {
      mine.hear = (type, message) => {
        client.write(message);
        if (type !== READY || message[5] !== IDLE) return;
        backend = null;
        release(mine);
      };
    };
    const attach = (): void => {
      if (held.length === 0 || client.destroyed) return;
      const mine = (next === "last" ? free.pop() : free.shift()) ?? null;
      if (mine === null) return void waiting.push(attach);
      backend = mine;
      serve(mine);
      for (const bytes of held.splice(0)) mine.socket.write(bytes);
    };
    client.on("data", (bytes) => {
      if (bytes[0] === TERMINATE) return void client.end();
      if (backend !== null) return void backend.socket.write(bytes);
      held.push(bytes);
      if (held.length === 1) attach();
    });
    client.on("close", () => backend?.socket.destroy());
    serve(backend);
    backend.socket.write(start);
  });
}

/** The server claims this version at a login. */
export async function startOfVersion(target: ProxyTarget, version: string): Promise<WireProxy> {
  return startProxy(async (client, sockets) => {
    const start = await readStart(client);
    const backend = openBackend(target, sockets);
    const { socket } = backend;
    backend.hear = (type, message) => {
      const isVersion = type === PARAMETER && message.includes("server_version\0");
      client.write(isVersion ? parameter("server_version", version) : message);
    };
    client.on("data", (bytes) => socket.write(bytes));
    client.on("close", () => socket.destroy());
    socket.on("close", () => client.destroy());
    socket.write(start);
  });
}

function parameter(name: string, value: string): Buffer {
  const body = Buffer.from(`${name}\0${value}\0`);
  const head = Buffer.alloc(5);
  head.write(PARAMETER);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
