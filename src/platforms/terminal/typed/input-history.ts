import { appendFileSync, chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { InputHistory } from "../presenters/presenter.ts";

const MAX_LINES = 500;
const MAX_LENGTH = 2000;
/** Commands that tell what somebody wants gone. */
const FORGETTING = /^\s*\/forget\b/i;

export interface HistoryFileOptions {
  /** Its folder is there. */
  readonly path: string;
  /** May this text hold a secret? */
  readonly holdsSecret: (text: string) => boolean;
}

/**
 * What was typed into the terminal, in a file that only its owner may read: a JSON text a line, the newest last. A file
 * that cannot be read or written costs the history and nothing else.
 */
export function openHistoryFile({ path, holdsSecret }: HistoryFileOptions): InputHistory {
  const lines = readLines(path);
  let isOff = false;
  return {
    lines: lines.toReversed(),
    add(text) {
      if (isOff || text.length > MAX_LENGTH || FORGETTING.test(text) || holdsSecret(text)) return;
      try {
        appendFileSync(path, `${JSON.stringify(text)}\n`, { mode: 0o600 });
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

/** The newest lines; a file that has grown to twice as many is written anew with them. */
function readLines(path: string): string[] {
  try {
    const all = readFileSync(path, "utf8").split("\n").flatMap(textOf);
    const newest = all.slice(-MAX_LINES);
    chmodSync(path, 0o600);
    if (all.length >= 2 * MAX_LINES) {
      const unfinished = `${path}.new`;
      writeFileSync(unfinished, newest.map((text) => `${JSON.stringify(text)}\n`).join(""), { mode: 0o600 });
      renameSync(unfinished, path);
    }
    return newest;
  } catch {
    // There is none yet, or it is no file of ours.
    return [];
  }
}

function textOf(line: string): string[] {
  try {
    const text: unknown = JSON.parse(line);
    return typeof text === "string" && text.length <= MAX_LENGTH ? [text] : [];
  } catch {
    // The last line of a process that was killed.
    return [];
  }
}
