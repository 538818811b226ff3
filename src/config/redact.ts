import { sliceWhole } from "../text/text.ts";

/** Shows an operator's values in error messages: enough to find them, never a secret. */

const MASK = "•••";
/** Beginnings that the keys of common services share. */
const KEY_PREFIX = /\b(?:sk|pk|rk|hf|gsk|xai|AIza|gh[a-z]|github_pat|glpat|xox[a-z]|xapp)[-_][^\s"']{4,}/g;
const URL_CREDENTIALS = /([a-z0-9+.-]:\/\/)[^\s/@"']+@/gi;
const URL_QUERY = /([a-z0-9+.-]:\/\/[^\s?"']*)(?:\?[^\s"']*)?/gi;
/** A run that mixes letters and digits may be a key of an unlisted service. */
const LONG_RUN = /[\w+/=-]{24,}/g;

/** Longest part of a text that is searched; the rest is never shown. */
const LONGEST_SEARCHED = 2000;

/** Masks everything that looks like a key, a token or a password, and drops the end of a long text. */
export function redact(text: string): string {
  return sliceWhole(text, 0, LONGEST_SEARCHED)
    .replaceAll(URL_CREDENTIALS, `$1${MASK}@`)
    .replaceAll(URL_QUERY, (found, address: string) => (found === address ? found : `${address}?${MASK}`))
    .replaceAll(KEY_PREFIX, MASK)
    .replaceAll(LONG_RUN, (run) => (/\d/.test(run) && /[a-z]/i.test(run) ? MASK : run));
}

/** In an address, but for the word in examples. */
const URL_PASSWORD = /:\/\/[^\s/@"':]*:(?!password@)[^\s/@"']+@/i;

/** Whether a text has a key as services make them, or an address with a password. */
export function hasKey(text: string): boolean {
  return text.search(KEY_PREFIX) >= 0 || URL_PASSWORD.test(text);
}

const LONGEST_SHOWN = 60;

/** `"text"`, `12`, `a list`, `nothing`: a value of the file for the `found` of a problem. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") {
    // Masked before it is cut: the beginning of a token would not look like one.
    const safe = redact(value);
    return JSON.stringify(safe.length > LONGEST_SHOWN ? `${sliceWhole(safe, 0, LONGEST_SHOWN)}…` : safe);
  }
  // It would be shown as another number than in the file: usually an id without quotes.
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return "a whole number too large to be read exactly";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value instanceof Date) return "a date";
  if (Array.isArray(value)) return "a list";
  return "a table";
}

/**
 * A line of the file for an excerpt. Its secret parts (right of `=`, or the whole line if it is no assignment) keep
 * their length, so that a caret still points at the place, but lose their letters and digits.
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
