import { errorMessage } from "../../core/errors.ts";
import { proxyErrorIn } from "../../network/use-proxies.ts";
import { imageTypeNamed, MAX_IMAGE_BYTES } from "../../core/image.ts";
import type { InboundImage } from "../../core/message.ts";
import { formatSize } from "../../text/format.ts";
import { displayName, sliceWhole } from "../../text/text.ts";
import type { ChannelPolicy } from "../platform.ts";
import { contentOf, type FileContent } from "./file-content.ts";
import { type OwnHosts, ownAddress } from "./own-address.ts";

export interface AttachedFile {
  readonly name: string;
  /** MIME type; empty if the platform gives none. */
  readonly type: string;
  /** Bytes, as the platform states. */
  readonly size: number;
  readonly url: string;
  /** Of a voice message, s. */
  readonly durationS?: number;
}

export interface AttachmentReader {
  /** Where files are fetched from. */
  readonly own: OwnHosts;
  /** For Slack, whose files are not public. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called with the reason why a file was not read. */
  readonly onFailure: (name: string, why: string) => void;
}

/**
 * Whether a message's files are read: for a message that is neither answered nor context, nothing is downloaded. Pure.
 * @param isTalk it is addressed, or said in a thread that takes part
 */
export function areRead({ isBound, listens, answersAll }: ChannelPolicy, isTalk: boolean): boolean {
  return isBound && (listens || answersAll || isTalk);
}

/** A message's attachments in the form for a model. */
export interface ReadAttachments {
  /** One line or block each: `[file report.pdf, application/pdf, 1.2 MB]`; of a text its words. */
  readonly texts: readonly string[];
  readonly images: readonly InboundImage[];
}

const MAX_FILES = 10;
const MAX_TEXT_BYTES = 200_000;
/** Characters of a text file that are kept. */
const MAX_TEXT_LENGTH = 20_000;
/** Longest download of all files of a message together, ms. */
const PATIENCE_MS = 10_000;
const TEXT_NAME =
  /\.(?:txt|md|csv|tsv|log|json|jsonl|ya?ml|toml|ini|conf|xml|html?|css|[jt]sx?|mjs|cjs|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|sh|sql|diff|patch)$/i;

/** Types that do not tell whether the file is a text. */
const UNTOLD =
  /^(?:$|text\/|(?:application|binary)\/(?:octet-stream|(?:[\w.-]+\+)?(?:json|xml|yaml|toml)|x-(?:yaml|sh|ndjson)|javascript|sql)|image\/svg)/i;

/** Reads pictures, and texts up to a cap. Does not throw; files that fail are only named. */
export async function readAttachments(
  files: readonly AttachedFile[],
  reader: AttachmentReader,
): Promise<ReadAttachments> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const read = await Promise.all(
    files.slice(0, MAX_FILES).map(async (file) => readOne(file, reader, signal)),
  );
  const left = files.length - MAX_FILES;
  const more = left > 0 ? [`[and ${left} more files]`] : [];
  return {
    texts: [...read.map(({ text }) => text), ...more],
    images: read.flatMap(({ image }) => image ?? []),
  };
}

interface ReadFile {
  readonly text: string;
  readonly image?: InboundImage;
}

async function readOne(file: AttachedFile, reader: AttachmentReader, signal: AbortSignal): Promise<ReadFile> {
  const limit = mostBytes(file);
  if (limit === null || file.size > limit) return { text: describe(file) };
  try {
    const bytes = await download(file.url, reader, limit, signal);
    const content = await contentOf(bytes);
    const label = describe({ ...file, type: typeOf(file, content) });
    switch (content.kind) {
      case "image":
        return { text: label, image: { name: displayName(file.name), type: content.type, bytes } };
      case "text":
        return bytes.length > MAX_TEXT_BYTES
          ? { text: label }
          : { text: `${label}\n${quoted(content.text)}` };
      case "other":
        return { text: label };
    }
  } catch (error) {
    reader.onFailure(file.name, errorMessage(proxyErrorIn(error) ?? error));
    return { text: describe(file) };
  }
}

/** The most bytes that are fetched of a file; null: by its name and type it is neither a picture nor a text. Pure. */
function mostBytes({ name, type, durationS }: AttachedFile): number | null {
  if (durationS !== undefined) return null;
  if (imageTypeNamed(type) !== null) return MAX_IMAGE_BYTES;
  if (TEXT_NAME.test(name) || UNTOLD.test(type)) return MAX_TEXT_BYTES;
  return null;
}

/** The stated type, unless the bytes are of another. Pure. */
function typeOf({ type }: AttachedFile, content: FileContent): string {
  if (content.kind === "text") return imageTypeNamed(type) === null ? type : "text/plain";
  return (
    content.type ?? (UNTOLD.test(type) || imageTypeNamed(type) !== null ? "application/octet-stream" : type)
  );
}

/** In a code block, with a fence that is longer than any in it. */
function quoted(content: string): string {
  const kept = sliceWhole(content, 0, MAX_TEXT_LENGTH);
  const cut = kept.length < content.length ? `\n[… ${content.length} characters in all]` : "";
  const longest = Math.max(2, ...Array.from(kept.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${kept.trimEnd()}${cut}\n${fence}`;
}

function describe({ name, type, size, durationS }: AttachedFile): string {
  const kind = durationS !== undefined ? "voice message" : imageTypeNamed(type) === null ? "file" : "image";
  const form = durationS === undefined ? displayName(type || "unknown type") : `${Math.ceil(durationS)} s`;
  return `[${[`${kind} ${displayName(name)}`, form, formatSize(size)].join(", ")}]`;
}

/** @throws Error if the address is not the platform's own, or the file is larger than stated */
async function download(
  address: string,
  { own, headers = {} }: AttachmentReader,
  limit: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const url = ownAddress(address, own);
  if (url === null) throw new Error("it is not on the platform's own host");
  // A redirect could lead anywhere, with the token.
  const response = await fetch(url, { headers, signal, redirect: "error" });
  if (!response.ok || response.body === null) throw new Error(`the platform answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > limit) throw new Error(`it is larger than ${formatSize(limit)}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
