import { errorMessage } from "../../core/errors.ts";
import { proxyErrorIn } from "../../network/use-proxies.ts";
import { imageTypeNamed, MAX_IMAGE_BYTES, oversize } from "../../core/image.ts";
import type { Author, ChannelOnPlatform, InboundImage } from "../../core/message.ts";
import { formatSize } from "../../text/format.ts";
import { displayName, sliceWhole } from "../../text/text.ts";
import type { ChannelPolicy, InboundSound, Transcript, Transcripts } from "../platform.ts";
import { contentOf, type FileContent } from "./file-content.ts";
import { type OwnHosts, ownAddress } from "./own-address.ts";
import { MAX_PDF_BYTES, type PdfReading, readPdf } from "./pdf.ts";

export interface AttachedFile {
  readonly name: string;
  /** MIME type; empty if the platform gives none. */
  readonly type: string;
  /** Bytes, as the platform states. */
  readonly size: number;
  readonly url: string;
  /** Of a voice message; null: its length is unknown. Left out: it is none. */
  readonly voice?: {
    readonly durationS: number | null;
    /** What the platform itself has heard; null: nothing. `isWhole`: nothing follows it. */
    readonly heard: { readonly text: string; readonly isWhole: boolean } | null;
  };
}

export interface AttachmentReader {
  /** Where files are fetched from. */
  readonly own: OwnHosts;
  /** For Slack, whose files are not public. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest download of all files of a message together, ms. Default: 10 s. */
  readonly patienceMs?: number;
  /** Called with the reason why a file was not read. */
  readonly onFailure: (name: string, why: string) => void;
  /** Makes words of a sound. Default: sounds are named, and not fetched. */
  readonly hear?: (sound: InboundSound) => Promise<Transcript>;
}

/** Names the files without fetching them. */
export const NO_FILES: AttachmentReader = { own: { hosts: [], apiUrl: null }, onFailure: () => undefined };

/**
 * Whether a message's files are read: for a message that is neither answered nor context, nothing is downloaded. Pure.
 * @param isTalk it is addressed, or said in a thread that takes part
 */
export function areRead({ isBound, listens, answersAll }: ChannelPolicy, isTalk: boolean): boolean {
  return isBound && (listens || answersAll || isTalk);
}

/** Whose words a sound's are. */
export interface SaidBy {
  where(): Promise<ChannelOnPlatform>;
  author(): Promise<Author>;
}

/** A reader that also makes words of sounds, where some model does. Pure. */
export function hearing(
  reader: AttachmentReader,
  transcripts: Transcripts | undefined,
  by: SaidBy,
): AttachmentReader {
  if (transcripts === undefined) return reader;
  return { ...reader, hear: async (sound) => transcripts.of(await by.where(), await by.author(), sound) };
}

/** A message's attachments in the form for a model. */
export interface ReadAttachments {
  /** One line or block each: `[file report.pdf, application/pdf, 1.2 MB]`; of a text its words. */
  readonly texts: readonly string[];
  readonly images: readonly InboundImage[];
}

const MAX_FILES = 10;
/** PDFs, and sounds, of one message that are read. */
const MAX_LONG = 3;
/** The limit of OpenAI's servers. */
const MAX_SOUND_BYTES = 25_000_000;
const MAX_TEXT_BYTES = 200_000;
/** Characters of a text file that are kept. */
const MAX_TEXT_LENGTH = 20_000;
const PATIENCE_MS = 10_000;
const TEXT_NAME =
  /\.(?:txt|md|csv|tsv|log|json|jsonl|ya?ml|toml|ini|conf|xml|html?|css|[jt]sx?|mjs|cjs|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|sh|sql|diff|patch)$/i;

/** Types that do not tell whether the file is a text. */
const UNTOLD =
  /^(?:$|text\/|(?:application|binary)\/(?:octet-stream|(?:[\w.-]+\+)?(?:json|xml|yaml|toml)|x-(?:yaml|sh|ndjson)|javascript|sql)|image\/svg)/i;

/** Reads pictures, and texts and PDFs up to a cap. Does not throw; files that fail are only named. */
export async function readAttachments(
  files: readonly AttachedFile[],
  reader: AttachmentReader,
): Promise<ReadAttachments> {
  const signal = AbortSignal.timeout(reader.patienceMs ?? PATIENCE_MS);
  const some = files.slice(0, MAX_FILES);
  const unread = new Set([isPdf, isSound].flatMap((is) => some.filter(is).slice(MAX_LONG)));
  const read = await Promise.all(
    some.map(async (file) => readOne(file, reader, unread.has(file) ? null : signal)),
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

/** @param signal null: it is one too many, and only named */
async function readOne(
  file: AttachedFile,
  reader: AttachmentReader,
  signal: AbortSignal | null,
): Promise<ReadFile> {
  const { voice } = file;
  const heard = voice?.heard ?? null;
  if (reader.hear === undefined && voice !== undefined && heard !== null)
    return { text: spoken(describe(file), heard.text, { isVoice: true, isWhole: heard.isWhole }) };
  const limit = mostBytes(file, reader);
  if (limit === null || signal === null || file.size > limit) return { text: describe(file) };
  try {
    const bytes = await download(file.url, reader, limit, signal);
    return await readBytes(file, bytes, reader);
  } catch (error) {
    reader.onFailure(file.name, errorMessage(proxyErrorIn(error) ?? error));
    const label = describe(file);
    return { text: signal.aborted ? labelled(label, "not read: it was not sent in time") : label };
  }
}

async function readBytes(file: AttachedFile, bytes: Uint8Array, reader: AttachmentReader): Promise<ReadFile> {
  const content = await contentOf(bytes);
  const label = describe({ ...file, type: typeOf(file, content) });
  switch (content.kind) {
    case "image": {
      const size = oversize(bytes);
      if (size !== null)
        return { text: `${label.slice(0, -1)}, ${size.join(" × ")} pixels: too large to be shown]` };
      return { text: label, image: { name: displayName(file.name), type: content.type, bytes } };
    }
    case "text":
      return bytes.length > MAX_TEXT_BYTES ? { text: label } : { text: `${label}\n${quoted(content.text)}` };
    case "pdf":
      return { text: pdfText(label, await readPdf(bytes)) };
    case "other":
      return { text: isSound(file) ? await soundText(label, file, bytes, content.type, reader) : label };
  }
}

/** The most bytes that are fetched of a file; null: by its name and type it is nothing that is read. Pure. */
function mostBytes({ name, type, voice }: AttachedFile, { hear }: AttachmentReader): number | null {
  if (isSound({ type, voice })) return hear === undefined ? null : MAX_SOUND_BYTES;
  if (imageTypeNamed(type) !== null) return MAX_IMAGE_BYTES;
  if (isPdf({ name, type })) return MAX_PDF_BYTES;
  if (TEXT_NAME.test(name) || UNTOLD.test(type)) return MAX_TEXT_BYTES;
  return null;
}

function isPdf({ name, type }: Pick<AttachedFile, "name" | "type">): boolean {
  return /^application\/(?:x-)?pdf\b/i.test(type) || (/\.pdf$/i.test(name) && UNTOLD.test(type));
}

function isSound({ type, voice }: { readonly type: string; readonly voice?: unknown }): boolean {
  return voice !== undefined || /^audio\//i.test(type);
}

/** The stated type, unless the bytes are of another. Pure. */
function typeOf({ type }: AttachedFile, content: FileContent): string {
  if (content.kind === "pdf") return "application/pdf";
  if (content.kind === "text") return imageTypeNamed(type) === null ? type : "text/plain";
  return (
    content.type ?? (UNTOLD.test(type) || imageTypeNamed(type) !== null ? "application/octet-stream" : type)
  );
}

/** The label of a sound, with its words or with why it has none. Does not throw. */
async function soundText(
  label: string,
  { name, voice }: AttachedFile,
  bytes: Uint8Array,
  type: string | null,
  { hear }: AttachmentReader,
): Promise<string> {
  // A sound alone may stand in the container of a film.
  if (hear === undefined || type === null || !/^(?:audio|video)\//.test(type)) return label;
  const sound = { name: soundName(name, type), type, bytes, durationS: voice?.durationS ?? null };
  const transcript = await hear(sound);
  if (transcript.kind === "words")
    return spoken(label, transcript.text, { isVoice: voice !== undefined, isWhole: true });
  return transcript.why === null ? label : labelled(label, `not transcribed: ${transcript.why}`);
}

/** A name whose ending tells the format, as servers want it. Pure. */
function soundName(name: string, type: string): string {
  const [ending = ""] = /\.(?:flac|m4a|mp3|mp4|mpeg|mpga|oga|ogg|wav|webm)$/i.exec(name) ?? [];
  if (ending !== "") return `sound${ending.toLowerCase()}`;
  const [, known = ""] = /^(?:audio|video)\/(?:x-)?(flac|m4a|mp4|mpeg|ogg|wav|webm)\b/.exec(type) ?? [];
  return `sound.${known === "mpeg" ? "mp3" : known || "ogg"}`;
}

/** A label with a transcript: the message's own words, unless they are those of a file. Pure. */
function spoken(
  label: string,
  text: string,
  { isVoice, isWhole }: { readonly isVoice: boolean; readonly isWhole: boolean },
): string {
  const words = text.trim();
  if (words === "") return labelled(label, "transcript: no words");
  const kept = sliceWhole(words, 0, MAX_TEXT_LENGTH);
  const cut = kept.length < words.length || !isWhole ? "\n[… the transcript goes on]" : "";
  return `${labelled(label, "transcript")}\n${isVoice ? `${kept}${cut}` : fenced(`${kept}${cut}`)}`;
}

function labelled(label: string, what: string): string {
  return `${label.slice(0, -1)}, ${what}]`;
}

/** The file's label with what was found, and its words. Pure. */
function pdfText(label: string, reading: PdfReading): string {
  switch (reading.kind) {
    case "text": {
      const { pages, shown, text } = reading;
      const all = pagesOf(reading);
      return `${labelled(label, shown < pages ? `the first ${shown} of ${all}` : all)}\n${fenced(text)}`;
    }
    case "wordless":
      return labelled(label, `${pagesOf(reading)} of pictures without words`);
    case "locked":
      return labelled(label, "not read: it needs a password");
    case "damaged":
      return labelled(label, "not read: it is damaged");
    case "too slow":
      return labelled(label, "not read: it takes too long");
    case "too large":
      return labelled(label, "not read: it takes too much memory");
  }
}

function pagesOf({ pages }: { readonly pages: number }): string {
  return `${pages} ${pages === 1 ? "page" : "pages"}`;
}

function quoted(content: string): string {
  const kept = sliceWhole(content, 0, MAX_TEXT_LENGTH);
  const cut = kept.length < content.length ? `\n[… ${content.length} characters in all]` : "";
  return fenced(`${kept.trimEnd()}${cut}`);
}

/** In a code block, with a fence that is longer than any in it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function describe({ name, type, size, voice }: AttachedFile): string {
  const kind = voice !== undefined ? "voice message" : imageTypeNamed(type) === null ? "file" : "image";
  const durationS = voice?.durationS ?? null;
  const form = durationS === null ? displayName(type || "unknown type") : `${Math.ceil(durationS)} s`;
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
