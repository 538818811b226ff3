import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode, OperatorError } from "../core/errors.ts";
import { replaceFile } from "../files/write-file.ts";
import { readTextFile } from "./text-file.ts";

/** A configuration file as a form shows it and takes it back. */
export interface EditableFile {
  /** Its lines end in `\n`. */
  readonly text: string;
  /** Of its bytes: another text has another one. */
  readonly hash: string;
}

const MOST_CHARACTERS = 100_000;
const BYTE_ORDER_MARK = "\u{feff}";

/**
 * Reads a configuration file for a form.
 * @throws OperatorError whose message says why it cannot be edited there
 */
export function readEditable(path: string): EditableFile {
  return readWhole(path).file;
}

/**
 * Puts a text in the place of a file, whole or not at all. The file keeps its mode, its owner, its byte order mark and how its lines
 * end; where it is a link, what the link leads to is replaced.
 * @param hash of the file as it was read
 * @returns false: the file is another one by now, and nothing was written
 * @throws OperatorError if it cannot be written: nothing was
 */
export function saveEditable(path: string, text: string, hash: string): boolean {
  const { file, target, lineEnd, mark } = readWhole(path);
  if (file.hash !== hash) return false;
  const { mode, uid, gid } = statSync(target);
  try {
    replaceFile(target, mark + text.replaceAll("\n", lineEnd), { mode: mode & 0o7777, owner: { uid, gid } });
  } catch (error) {
    throw cannot(`be written (${errorCode(error) || "unknown reason"}): use an editor`);
  }
  return true;
}

function readWhole(path: string): {
  readonly file: EditableFile;
  readonly target: string;
  readonly lineEnd: string;
  readonly mark: string;
} {
  const read = readTextFile(path, path);
  if (read === null) throw cannot("be edited: it is not there any more");
  if ("problem" in read) throw cannot(`be edited here: it ${read.problem.message}`);
  const target = realpathSync(path);
  try {
    accessSync(target, constants.W_OK);
    accessSync(dirname(target), constants.W_OK);
  } catch {
    throw cannot("be edited here: the account that runs Weir may not write it");
  }
  const bytes = readFileSync(target);
  const whole = bytes.toString("utf8");
  const hash = createHash("sha256").update(bytes).digest("hex");
  const mark = whole.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const [windows, all] = [whole.split("\r\n").length - 1, whole.split("\n").length - 1];
  const isOneKind = (windows === 0 || windows === all) && whole.split("\r").length - 1 === windows;
  if (!isOneKind)
    throw cannot("be edited here: its lines end in several ways, which a browser would not keep");
  if (whole.length > MOST_CHARACTERS) throw cannot("be edited here: it is too long");
  const lineEnd = windows === 0 ? "\n" : "\r\n";
  const text = whole.slice(mark.length).replaceAll("\r\n", "\n");
  return { file: { text, hash }, target, lineEnd, mark };
}

function cannot(what: string): OperatorError {
  return new OperatorError(`The file cannot ${what}.`);
}
