import { pino } from "pino";
import { Database } from "../../src/store/database/database.ts";
import { createBareTurn } from "../support/bare-turn.ts";
import type { OpenPeer, PeerOptions } from "./peer.ts";

/** Two commits and a request: no memory, no context, no channels. */
export async function open({ databaseUrl, modelUrl }: PeerOptions): Promise<OpenPeer> {
  const database = new Database({ url: databaseUrl }, pino({ level: "silent" }), { maxConnections: 10 });
  let size = 0;
  const turn = await createBareTurn(database, modelUrl, () => size);
  return {
    async ask() {
      await turn();
      return true;
    },
    setBytes(bytes) {
      size = bytes;
    },
  };
}
