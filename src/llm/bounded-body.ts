import { streamOf } from "./node-fetch.ts";

/** Bytes of a body that is read whole: a listing, an error, an answer that did not come as a stream. */
const MAX_BODY_BYTES = 4_000_000;

/** The text of a body, cut off where it is longer than anything that a server has to say. */
export async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of streamOf(response)) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString("utf8");
}

/** @throws SyntaxError where the body is not JSON, or was cut off */
export async function boundedJson(response: Response): Promise<unknown> {
  return JSON.parse(await boundedText(response));
}
