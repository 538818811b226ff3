import { jsonOf } from "./json.ts";
import type { Entry } from "./entry.ts";
import type { Seq } from "./ids.ts";
import type { OutboundFile } from "./message.ts";

/** The tool whose calls say what is sent behind an answer. The log has them, so that a file is kept nowhere else. */
export const ATTACH = "attach";
export const MOST_FILES = 4;
export const MOST_FILE_BYTES = 100_000;
export const MOST_PICTURE_BYTES = 5_000_000;
const DONE = "Attached: ";
const SOURCE = /^Attached: \S+, [^(\n]{1,40} \((?:result|picture (\d{1,3}) of result) (\d{1,15})\)\. /;

type Result = Extract<Entry, { kind: "tool_result" }>;

/** What a file is made of, if no text of the call is: a result, or one of its pictures. */
export interface FileSource {
  readonly seq: Seq;
  /** From 1; null: its text. */
  readonly picture: number | null;
}

/** The result of a call whose file goes out, which later turns read. The source stands in it, so that the same file is sent later. */
export function attachedResult(name: string, size: string, source: FileSource | null): string {
  const picture = source?.picture == null ? "" : `picture ${source.picture} of `;
  const from = source === null ? "" : ` (${picture}result ${source.seq})`;
  return `${DONE}${name}, ${size}${from}. It goes out behind your answer.`;
}

/** The arguments of a call; exactly one of `text`, `resultOf` and `pictureOf`. */
export interface AttachRequest {
  readonly name: string;
  readonly text?: string | undefined;
  /** The name of a tool: the newest result of its calls in this turn. */
  readonly resultOf?: string | undefined;
  /** The same: the newest that has pictures. */
  readonly pictureOf?: string | undefined;
}

interface AttachedFile {
  readonly name: string;
  /** Null: it is a result's. */
  readonly text: string | null;
  readonly source: FileSource | null;
}

/**
 * The files that the calls of a turn send behind its answer, in order. Pure.
 * @returns null: something of them was deleted, so that none is sent
 */
export function attachedBy(entries: readonly Entry[]): readonly AttachedFile[] | null {
  const results = entries.filter((entry) => entry.kind === "tool_result");
  const files: AttachedFile[] = [];
  for (const [index, result] of results.entries()) {
    if (result.tool !== ATTACH) continue;
    if (result.deleted || result.text === "") return null;
    if (!result.text.startsWith(DONE)) continue;
    const request = requestOf(entries, result.callId);
    if (request === null) return null;
    const name = result.text.slice(DONE.length).split(",", 1)[0] ?? "";
    const [, picture, seq] = SOURCE.exec(result.text) ?? [];
    const source =
      seq === undefined
        ? null
        : { seq: Number(seq), picture: picture === undefined ? null : Number(picture) };
    const text = source === null ? textOf(request, results.slice(0, index)) : null;
    if (source === null && text === null) return null;
    files.push({ name: fileName(name), text, source });
  }
  return files.slice(0, MOST_FILES);
}

export interface ResultPicture {
  readonly seq: Seq;
  readonly type: string;
  readonly bytes: Uint8Array | null;
}

/**
 * Makes the files of an answer. Pure.
 * @param results with the texts that they have now
 * @param pictures of these results, in order
 * @returns null: something of them was deleted, so that none is sent
 */
export function madeFiles(
  files: readonly AttachedFile[],
  results: readonly Entry[],
  pictures: readonly ResultPicture[],
): readonly OutboundFile[] | null {
  const made = files.map(({ name, text, source }): OutboundFile | null => {
    if (source?.picture != null) {
      const found = pictures.filter(({ seq }) => seq === source.seq)[source.picture - 1];
      return found?.bytes == null ? null : { name, type: found.type, bytes: found.bytes };
    }
    const result = results.find(({ seq }) => seq === source?.seq);
    const words = source === null ? text : result?.deleted === false ? result.text : "";
    return words === null || words === "" ? null : { name, type: "text/plain", bytes: Buffer.from(words) };
  });
  return made.every((file) => file !== null) ? made : null;
}

/** An answer of more messages may become a file. */
export const MOST_MESSAGES = 3;
/** Characters of the beginning that stands beside a file. */
const MOST_SHOWN = 600;
const IN_FILE = "(The whole answer is in the file answer.md.)";

/** What stands in the message beside an answer's file: its first paragraphs, or the first words of a long one. Pure. */
export function beginningOf(text: string): string {
  const head = text.slice(0, MOST_SHOWN);
  const ends = [...head.matchAll(/\n\s*\n/g)].map(({ index }) => index);
  // A block of code that goes on would swallow what follows.
  const end = ends.findLast((at) => (text.slice(0, at).match(/```/g)?.length ?? 0) % 2 === 0 && at > 0);
  const cut =
    end === undefined
      ? `${head
          .replaceAll("```", "")
          .replace(/(?<!\S)\S+$/u, "")
          .trimEnd()} …`
      : head.slice(0, end);
  return `${cut}\n\n${IN_FILE}`;
}

/** Pure. */
export function answerFile(text: string): OutboundFile {
  return { name: "answer.md", type: "text/markdown", bytes: Buffer.from(text) };
}

/** The text of a request's file; null: there is none. Pure. */
function textOf({ text, resultOf }: AttachRequest, results: readonly Result[]): string | null {
  if (resultOf === undefined) return text ?? null;
  const found = newestOf(results, resultOf);
  return found === undefined || found.text === "" ? null : found.text;
}

export function newestOf(results: readonly Result[], of: string): Result | undefined {
  return results.findLast(({ tool, deleted }) => tool === of && !deleted);
}

function requestOf(entries: readonly Entry[], callId: string): AttachRequest | null {
  const call = entries
    .flatMap((entry) => (entry.kind === "tool_call" ? entry.calls : []))
    .findLast(({ id }) => id === callId);
  const given = jsonOf(call?.arguments ?? "");
  if (typeof given !== "object" || given === null) return null;
  const at = (key: string): string | undefined => {
    const value: unknown = Reflect.get(given, key);
    return typeof value === "string" ? value : undefined;
  };
  const name = at("name");
  return name === undefined
    ? null
    : { name, text: at("text"), resultOf: at("result_of"), pictureOf: at("picture_of") };
}

const ENDINGS: Readonly<Record<string, RegExp>> = {
  "image/png": /\.png$/i,
  "image/jpeg": /\.jpe?g$/i,
  "image/gif": /\.gif$/i,
  "image/webp": /\.webp$/i,
};

/** A plain name with the ending of a picture's type. Pure. */
export function pictureName(name: string, type: string): string {
  const ending = type
    .replace("image/", "")
    .replace("jpeg", "jpg")
    .replaceAll(/[^a-z]/g, "");
  const stem = name.replace(/\.[A-Za-z0-9]{1,10}$/, "");
  return fileName(ENDINGS[type]?.test(name) === true ? name : `${stem}.${ending}`);
}

const LONGEST_NAME = 80;
/** Characters of a name that are read: its end has the ending. */
const LONGEST_READ = 400;

/** A plain name of a file: no path, nothing hidden, no signs but `.`, `_` and `-`, and with an ending. Pure. */
export function fileName(name: string): string {
  const plain = (name.split(/[/\\]/).at(-1) ?? "")
    .slice(-LONGEST_READ)
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")
    .replace(/^[._-]+/, "")
    .replace(/(?<![._-])[._-]+$/, "");
  const [, stem = "", ending = ""] = /^(.*?)(\.[A-Za-z0-9]{1,10})?$/su.exec(plain) ?? [];
  const short = Array.from(stem).slice(0, LONGEST_NAME).join("");
  return `${short || "file"}${ending || ".txt"}`;
}
