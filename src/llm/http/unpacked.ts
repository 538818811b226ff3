import { pipeline, Readable } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type BrotliDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
} from "node:zlib";

/** Gzip's first byte, with which no text begins. */
const GZIP = 0x1f;
/** What is unpacked so far comes out with each piece; an end that was cut off is the reader's to judge. */
const AT_ONCE = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI_AT_ONCE = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};

/**
 * The bytes of a body as the server meant them. Weir asks for no packing, but proxies pack all the same, and some do not say
 * so, or say so of what they have unpacked.
 * @param packing the body's `Content-Encoding`; "": none
 */
export async function unpacked(
  bytes: AsyncIterable<Uint8Array>,
  packing: string,
): Promise<AsyncIterable<Uint8Array>> {
  const source = bytes[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> = await source.next();
  while (first.done !== true && first.value.length === 0) first = await source.next();
  const firstByte = first.done === true ? 0 : (first.value[0] ?? 0);
  const unpacker = unpackerOf(packing.trim().toLowerCase(), firstByte);
  const whole = new Begun(first, source);
  if (unpacker === undefined || first.done === true) return whole;
  // An error reaches the reader through the unpacker.
  pipeline(Readable.from(whole), unpacker, () => undefined);
  return unpacker;
}

/** What an iterator gives, with the first of it, which was looked at. A generator would take a tenth of the time of a whole stream. */
class Begun implements AsyncIterableIterator<Uint8Array> {
  #first: IteratorResult<Uint8Array> | undefined;
  readonly #source: AsyncIterator<Uint8Array>;

  constructor(first: IteratorResult<Uint8Array>, source: AsyncIterator<Uint8Array>) {
    this.#first = first;
    this.#source = source;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const first = this.#first;
    this.#first = undefined;
    return first ?? this.#source.next();
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function unpackerOf(
  packing: string,
  firstByte: number,
): Gunzip | Inflate | InflateRaw | BrotliDecompress | undefined {
  if (firstByte === GZIP) return createGunzip(AT_ONCE);
  if (packing === "br") return createBrotliDecompress(BROTLI_AT_ONCE);
  if (packing !== "deflate") return undefined;
  // RFC 9110 means zlib's format (8 in the low bits of its first byte); some servers send the bare one.
  return (firstByte & 0x0f) === 8 ? createInflate(AT_ONCE) : createInflateRaw(AT_ONCE);
}
