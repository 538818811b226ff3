import type pg from "pg";
import type { Writable } from "node:stream";
import { from, to } from "pg-copy-streams";
import type { Queryable } from "./queryable.ts";

/** One connection that also moves whole tables, row by row as text. */
export interface CopyClient extends Queryable {
  /** The rows of a `copy … to stdout`, each ending in a line feed. */
  copyOut(text: string): AsyncIterable<Buffer>;
  /** Takes the rows of a `copy … from stdin`. It finishes once the server has taken all of them. */
  copyIn(text: string): Writable;
}

export function copyStreams(client: pg.Client): Pick<CopyClient, "copyOut" | "copyIn"> {
  return { copyOut: (text) => client.query(to(text)), copyIn: (text) => client.query(from(text)) };
}
