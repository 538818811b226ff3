import assert from "node:assert/strict";
import { once } from "node:events";
import { Server as HttpServer } from "node:http";
import type { Server } from "node:net";

/** A server on a free port of 127.0.0.1. Disposing ends the connections of an HTTP server, and resolves when the port is free. */
export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** An HTTP server's: `http://127.0.0.1:PORT`. */
  readonly url: string;
}

export async function startListening(server: Server): Promise<Listening> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const { port } = address;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      if (server instanceof HttpServer) server.closeAllConnections();
      await closed;
    },
  };
}
