import { displayName } from "../text/text.ts";

/** A name as data: whatever stands in it, it ends where the quotation does. */
export function quotedName(name: string): string {
  return `"${displayName(name).replaceAll(/["\u201c-\u201f]/g, "'")}"`;
}
