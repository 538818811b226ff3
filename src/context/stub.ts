import { sliceWhole } from "../text/text.ts";

export interface StubSize {
  /** Longest result that stays whole, in UTF-16 units. */
  readonly stubOver: number;
  /** Length of a shortened result, in UTF-16 units. */
  readonly stubLength: number;
}

export function stubOf(text: string, { stubOver, stubLength }: StubSize): string {
  if (text.length <= stubOver) return text;
  const stub = `${sliceWhole(text, 0, stubLength)} [… ${text.length} characters in all]`;
  return stub.length < text.length ? stub : text;
}
