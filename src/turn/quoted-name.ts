import { displayName } from "../text/text.ts";

/** A name as quoted data, which cannot end its own quotation. */
export function quotedName(name: string): string {
  return `"${displayName(name).replaceAll(/["\u201c-\u201f]/g, "'")}"`;
}
