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

/** Gzip's first byte, which begins no text. */
const GZIP = 0x1f;
/** Each piece yields its content at once; the reader checks for a truncated end. */
const AT_ONCE = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI_AT_ONCE = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};

/**
 * A body's decompressed bytes. Weir asks for no compression, but proxies compress nevertheless, and some omit the
 * header, or keep it after decompressing.
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

/** An iterator with its inspected first item put back. A generator would take a tenth of the time of a whole stream. */
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
  // By RFC 9110 it is zlib's format (8 in the low bits of its first byte); some servers send the raw one.
  return (firstByte & 0x0f) === 8 ? createInflate(AT_ONCE) : createInflateRaw(AT_ONCE);
}
