import { isUtf8 } from "node:buffer";
import { analyse } from "chardet";
import { fileTypeFromBuffer } from "file-type";
import { type ImageType, imageTypeOf } from "../../core/image.ts";

/** What a file is, by its bytes. */
export type FileContent =
  | { readonly kind: "image"; readonly type: ImageType }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "pdf" }
  /** `type`: the MIME type of the bytes; null: unknown. */
  | { readonly kind: "other"; readonly type: string | null };

/** Types that are told by their bytes, and whose bytes are text. */
const TEXT_TYPES: ReadonlySet<string> = new Set([
  "application/xml",
  "image/svg+xml",
  "text/calendar",
  "text/vcard",
]);
const MARKS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
] as const;
/** Least confidence of a guessed encoding, percent. Bytes of a program or an archive get less. */
const MIN_CONFIDENCE = 20;
/** Control characters that no text has. */
// oxlint-disable-next-line no-control-regex
const BINARY = /[\0-\x08\x0E-\x1A\x1C-\x1F]/;

/** What a file is follows from its bytes: a name or a stated type can be wrong. Does not throw. */
export async function contentOf(bytes: Uint8Array): Promise<FileContent> {
  const image = imageTypeOf(bytes);
  if (image !== null) return { kind: "image", type: image };
  // Fails for a file that ends in its head.
  const type = (await fileTypeFromBuffer(bytes).catch(() => undefined))?.mime ?? null;
  if (type === "application/pdf") return { kind: "pdf" };
  if (type !== null && !TEXT_TYPES.has(type)) return { kind: "other", type };
  const text = textOf(bytes);
  return text === null ? { kind: "other", type } : { kind: "text", text };
}

/** The text of the bytes, by their byte order mark, as UTF-8, or in the likeliest older encoding; null: no text. Pure. */
function textOf(bytes: Uint8Array): string | null {
  const mark = MARKS.find((one) => one.bytes.every((byte, index) => bytes[index] === byte));
  const encoding = mark?.encoding ?? (isUtf8(bytes) ? "utf-8" : likelyEncoding(bytes));
  if (encoding === null) return null;
  const text = decoded(bytes, encoding);
  return text === null || BINARY.test(text) ? null : text;
}

function likelyEncoding(bytes: Uint8Array): string | null {
  const [first] = analyse(bytes);
  return first === undefined || first.confidence < MIN_CONFIDENCE ? null : first.name;
}

function decoded(bytes: Uint8Array, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    // An encoding that Node does not know, or bytes that it does not have.
    return null;
  }
}
