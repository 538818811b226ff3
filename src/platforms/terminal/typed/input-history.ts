import { jsonOf } from "../../../core/json.ts";
import { closeSync, fchmodSync, rmSync, writeSync } from "node:fs";
import { readText } from "../../../files/read-file.ts";
import { openToAppend, replaceFile } from "../../../files/write-file.ts";
import type { InputHistory } from "../presenters/presenter.ts";

const MAX_LINES = 500;
const MAX_LENGTH = 2000;
/** A longer file was not written by Weir. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Commands that name content to delete. */
const FORGETTING = /^\s*\/forget\b/i;

/**
 * The terminal's input history, in a file that only its owner may read: a JSON text a line, the newest last. A file that cannot
 * be read or written costs only the history.
 * @param path its folder is there
 */
export function openHistoryFile(path: string, holdsSecret: (text: string) => boolean): InputHistory {
  const lines = readLines(path);
  let isOff = false;
  return {
    lines: lines.toReversed(),
    add(text) {
      if (isOff || text.length > MAX_LENGTH || FORGETTING.test(text) || holdsSecret(text)) return;
      try {
        append(path, `${JSON.stringify(text)}\n`);
      } catch {
        isOff = true;
      }
    },
    clear() {
      try {
        rmSync(path, { force: true });
      } catch {
        isOff = true;
      }
    },
  };
}

/** The newest lines; a file that has grown to twice the limit is rewritten with them. */
function readLines(path: string): string[] {
  try {
    const all = readText(path, MAX_BYTES).split("\n").flatMap(textOf);
    const newest = all.slice(-MAX_LINES);
    append(path, "");
    if (all.length >= 2 * MAX_LINES)
      replaceFile(path, newest.map((text) => `${JSON.stringify(text)}\n`).join(""));
    return newest;
  } catch {
    // The file does not exist, or was not written by Weir.
    return [];
  }
}

/** Closes the file to others, if it was open to them. */
function append(path: string, text: string): void {
  const fd = openToAppend(path, { isLinkMeant: false });
  try {
    fchmodSync(fd, 0o600);
    writeSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

function textOf(line: string): string[] {
  // The last line of a process that was killed may be no JSON.
  const text = jsonOf(line);
  return typeof text === "string" && text.length <= MAX_LENGTH ? [text] : [];
}
