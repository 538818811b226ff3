import { redactLine } from "./redact.ts";
import { isPublicKeyName } from "./schema-walk.ts";

/** Lines of a file, which are one unless nothing of them is shown. */
export interface ShownLines {
  /** From 1. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const COMMENT = "# …";

/**
 * A configuration file as an operator may be shown it: values of secrets, and of keys that are not known, lose their letters and digits,
 * also in a broken file. Comments may hold anything, and are left out. Pure.
 */
export function shownFile(text: string): ShownLines[] {
  const known = new Map<string, boolean>();
  const isPublic = (key: string): boolean => {
    const isIt = known.get(key) ?? isPublicKeyName(key);
    known.set(key, isIt);
    return isIt;
  };
  const shown: ShownLines[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const number = index + 1;
    const redacted = redactLine(line, isPublic);
    const isNothing = redacted === COMMENT || redacted.trim() === "";
    const last = shown.at(-1);
    if (isNothing && last?.text === COMMENT) shown.splice(-1, 1, { ...last, to: number });
    else if (redacted.trim() !== "") shown.push({ from: number, to: number, text: redacted });
  }
  return shown;
}
