import { sliceWhole } from "../text/text.ts";

/** The short form of an old tool result. */
export interface StubSize {
  /** Longest one that is kept whole, in UTF-16 units. */
  readonly stubOver: number;
  /** What is left of a longer one, in UTF-16 units. */
  readonly stubLength: number;
}

/** The short form, where that is shorter. */
export function stubOf(text: string, { stubOver, stubLength }: StubSize): string {
  if (text.length <= stubOver) return text;
  const stub = `${sliceWhole(text, 0, stubLength)} [… ${text.length} characters in all]`;
  return stub.length < text.length ? stub : text;
}
