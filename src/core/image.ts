const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
/** A kind of picture that models take. */
export type ImageType = (typeof IMAGE_TYPES)[number];

/** A picture for models that see. */
export interface ImageBytes {
  readonly type: ImageType;
  readonly bytes: Uint8Array;
}

export const MAX_IMAGE_BYTES = 5_000_000;

/** Longest side of a picture that is shown, pixels: model servers refuse longer ones, or run out of memory. */
const MAX_IMAGE_SIDE = 8000;

/** The kind of picture of a MIME type; null: another type. Pure. */
export function imageTypeNamed(mimeType: string): ImageType | null {
  const plain = mimeType.split(";", 1)[0]?.trim().toLowerCase();
  return IMAGE_TYPES.find((type) => type === plain) ?? null;
}

/** The kind of picture by its bytes alone; null: another kind. Pure. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  // Each byte as a character.
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  return head.startsWith("RIFF") && head.slice(8) === "WEBP" ? "image/webp" : null;
}

export type ImageSize = readonly [width: number, height: number];

/**
 * The size of a picture that is too large to be shown, however few its bytes are; null: it may be shown. Pure.
 * The four kinds are read here: a library that knows twenty reads whatever a stranger's bytes claim to be.
 */
export function oversize(bytes: Uint8Array): ImageSize | null {
  const size = sizeOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return size !== null && Math.max(...size) > MAX_IMAGE_SIDE ? size : null;
}

/** As the head says, by which a decoder allocates its memory; null: it says nothing, and no decoder takes it. */
function sizeOf(bytes: Buffer): ImageSize | null {
  try {
    switch (imageTypeOf(bytes)) {
      case "image/png":
        return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
      case "image/gif":
        return [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
      case "image/webp":
        return sizeOfWebp(bytes);
      case "image/jpeg":
        return sizeOfJpeg(bytes);
      case null:
        return null;
    }
  } catch (error) {
    // It ends before.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** In one of its three forms. @throws RangeError */
function sizeOfWebp(bytes: Buffer): ImageSize | null {
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8X":
      return [1 + bytes.readUIntLE(24, 3), 1 + bytes.readUIntLE(27, 3)];
    case "VP8L": {
      const packed = bytes.readUInt32LE(21);
      return [1 + (packed & 0x3fff), 1 + ((packed >>> 14) & 0x3fff)];
    }
    case "VP8 ":
      return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
    default:
      return null;
  }
}

/** From segment to segment, to the one that begins a frame. @throws RangeError */
function sizeOfJpeg(bytes: Buffer): ImageSize | null {
  for (let at = 2; bytes.readUInt8(at) === 0xff;) {
    const marker = bytes.readUInt8(at + 1);
    // Bytes between segments.
    if (marker === 0xff) at += 1;
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return null;
}
