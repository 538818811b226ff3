/** A kind of picture that models take. */
export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** A picture for models that see. */
export interface ImageBytes {
  readonly type: ImageType;
  readonly bytes: Uint8Array;
}

/** Largest picture that is taken. */
export const MAX_IMAGE_BYTES = 5_000_000;

/** The kind of picture of a MIME type; null: another type. Pure. */
export function imageTypeNamed(mimeType: string): ImageType | null {
  const plain = mimeType.split(";", 1)[0]?.trim().toLowerCase();
  switch (plain) {
    case "image/png":
    case "image/jpeg":
    case "image/gif":
    case "image/webp":
      return plain;
    default:
      return null;
  }
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
