import { TimeSlice } from "../../async/cooperative.ts";
import { streamOf } from "./node-fetch.ts";

/** Bytes of a body that is read whole: a listing, an error, an answer that did not come as a stream. */
const MAX_BODY_BYTES = 4_000_000;
/** Most bodies fit in. */
const FIRST_BYTES = 16_384;

/** Pieces that it may come in: nobody sends one byte by byte who means well. */
const MAX_PIECES = 100_000;

/** The text of a body, cut off where it is longer than anything that a server has to say. */
export async function boundedText(response: Response): Promise<string> {
  const slice = new TimeSlice();
  // One buffer that grows: of millions of pieces, each would be an object.
  let body = Buffer.alloc(FIRST_BYTES);
  let length = 0;
  let pieces = 0;
  for await (const chunk of streamOf(response)) {
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
