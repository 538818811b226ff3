import { TimeSlice } from "../../async/cooperative.ts";
import { packingOf, streamOf } from "./node-fetch.ts";
import { unpacked } from "./unpacked.ts";

/** Limit of a body that is read whole, in bytes: a listing, an error, an unstreamed answer. */
const MAX_BODY_BYTES = 4_000_000;
/** Bytes of the first buffer; most bodies fit in. */
const FIRST_BYTES = 16_384;

/** Limit of chunks: only an attacker sends a body byte by byte. */
const MAX_PIECES = 100_000;

/** The text of a body, cut off at the limits above. */
export async function boundedText(response: Response): Promise<string> {
  const slice = new TimeSlice();
  // One growing buffer: a list would hold one object per chunk.
  let body = Buffer.alloc(FIRST_BYTES);
  let length = 0;
  let pieces = 0;
  for await (const chunk of await unpacked(streamOf(response), packingOf(response))) {
    if (length + chunk.byteLength > body.length)
      body = Buffer.concat([body], Math.max(2 * body.length, length + chunk.byteLength));
    body.set(chunk, length);
    length += chunk.byteLength;
    pieces++;
    if (length > MAX_BODY_BYTES || pieces > MAX_PIECES) break;
    if (slice.isOver) await slice.next();
  }
  return body.toString("utf8", 0, Math.min(length, MAX_BODY_BYTES));
}

/** @throws SyntaxError if the body is not JSON, or was cut off */
export async function boundedJson(response: Response): Promise<unknown> {
  return JSON.parse(await boundedText(response));
}
