import { sliceWhole } from "../text/text.ts";

/** What an error message shows of a value of the operator's: enough to find it, never a secret. */

const MASK = "•••";
/** Beginnings that the keys of common services share. */
const KEY_PREFIX = /\b(?:sk|pk|rk|hf|gsk|xai|AIza|gh[a-z]|github_pat|glpat|xox[a-z]|xapp)[-_][^\s"']{4,}/g;
const URL_CREDENTIALS = /([a-z0-9+.-]:\/\/)[^\s/@"']+@/gi;
const URL_QUERY = /([a-z0-9+.-]:\/\/[^\s?"']*)(?:\?[^\s"']*)?/gi;
/** Those that mix letters and digits are keys of services that nobody listed. */
const LONG_RUN = /[\w+/=-]{24,}/g;

/** More is never shown. */
const LONGEST_SEARCHED = 2000;

/** Masks whatever looks like a key, a token or a password, and drops what is too long to be read. */
export function redact(text: string): string {
  return sliceWhole(text, 0, LONGEST_SEARCHED)
    .replaceAll(URL_CREDENTIALS, `$1${MASK}@`)
    .replaceAll(URL_QUERY, (found, address: string) => (found === address ? found : `${address}?${MASK}`))
    .replaceAll(KEY_PREFIX, MASK)
    .replaceAll(LONG_RUN, (run) => (/\d/.test(run) && /[a-z]/i.test(run) ? MASK : run));
}

const LONGEST_SHOWN = 60;

/** `"text"`, `12`, `a list`, `nothing`: a value of the file for the `found` of a problem. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") {
    // Cut after masking: the head of a token that was cut would no longer look like one.
    const safe = redact(value);
    return JSON.stringify(safe.length > LONGEST_SHOWN ? `${sliceWhole(safe, 0, LONGEST_SHOWN)}…` : safe);
  }
  // Shown, it would be another number than the one in the file: an id without quotes, most often.
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return "a whole number too large to be read exactly";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value instanceof Date) return "a date";
  if (Array.isArray(value)) return "a list";
  return "a table";
}

/**
 * A line of the file as an excerpt may show it: what stands right of `=`, or anywhere in a line that is no
 * assignment, keeps its shape (so that a caret still points at the place) but loses its letters and digits.
 * @param isPublicKey whether the values of this key are no secrets
 */
export function redactLine(line: string, isPublicKey: (key: string) => boolean): string {
  const comment = /^\s*#/.test(line);
  if (comment || /^\[+\s*(?:[a-z_.]+\s*)?\]*$/.test(line.trim())) return comment ? "# …" : line;
  const assignment = /^(\s*([A-Za-z0-9_.-]+)\s*=)(.*)$/.exec(line);
  if (assignment === null) return mask(line);
  const [, head = "", key = "", value = ""] = assignment;
  if (!isPublicKey(key)) return head + mask(value);
  // A mask of the same length: the caret below must still point at its place.
  return redact(line) === line ? line : head + mask(value);
}

function mask(text: string): string {
  return text.replaceAll(/[^\s"'[\]{},=#]/g, "•");
}
