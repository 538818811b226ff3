import { sliceWhole } from "../../text/text.ts";

/** Most of what cards and forwards of a message show together, in UTF-16 units. */
const MAX_BESIDE = 20_000;

/** Cuts what stands beside a message's own text, where it nests more than people read, and says so. Pure. */
export function cutBeside(text: string): string {
  if (text.length <= MAX_BESIDE) return text;
  return `${sliceWhole(text, 0, MAX_BESIDE)}\n[… ${text.length} characters in all]`;
}
